package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/watch"
	"k8s.io/component-helpers/node/topology"
	node "k8s.io/kubernetes/pkg/util/node"

	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// How long it waits for the address.
const lookLimit = time.Minute

// Seen is what the onlooker prints, as one line of JSON.
type Seen struct {
	Address    string           `json:"address"`
	Events     []SeenEvent      `json:"events"`    // through core/v1
	NewEvents  []string         `json:"newEvents"` // the same through events.k8s.io/v1, by reason
	Nodes      map[string]Place `json:"nodes"`
	Finalizers []string         `json:"finalizers"`
}

// SeenEvent is an event as `kubectl describe` shows it.
type SeenEvent struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Count   int32  `json:"count"`
	From    string `json:"from"`
	Aged    bool   `json:"aged"` // has the times that its age is told from
}

// Place is where the official helpers take a node to be.
type Place struct {
	Zone       string `json:"zone"`
	Host       string `json:"host"`
	ProviderID string `json:"providerID"`
}

// runOnlooker waits with an informer until a Service has an address, as controllers of users do,
// then reads the events about it, and the nodes.
func runOnlooker() int {
	flags := flag.NewFlagSet("onlooker", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "of the cluster")
	namespace := flags.String("namespace", "default", "of the Service")
	name := flags.String("service", "", "which to look at")
	_ = flags.Parse(os.Args[1:])
	seen, err := look(*kubeconfig, *namespace, *name)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(seen)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "onlooker: %v\n", err)
		return 1
	}
	return 0
}

func look(kubeconfig, namespace, name string) (*Seen, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	limit, cancel := context.WithTimeout(context.Background(), lookLimit)
	defer cancel()
	service, err := addressed(limit, client, namespace, name)
	if err != nil {
		return nil, fmt.Errorf("wait for an address of Service %s/%s: %w", namespace, name, err)
	}
	seen := &Seen{
		Address:    service.Status.LoadBalancer.Ingress[0].IP,
		Finalizers: service.Finalizers,
		Nodes:      map[string]Place{},
	}
	events, err := client.CoreV1().Events(namespace).SearchWithContext(limit, scheme.Scheme, service)
	if err != nil {
		return nil, err
	}
	for _, event := range events.Items {
		seen.Events = append(seen.Events, SeenEvent{
			Type: event.Type, Reason: event.Reason, Message: event.Message, Count: event.Count, From: event.Source.Component,
			Aged: !event.FirstTimestamp.IsZero() && !event.LastTimestamp.IsZero(),
		})
	}
	about := metav1.ListOptions{FieldSelector: "regarding.name=" + name}
	news, err := client.EventsV1().Events(namespace).List(limit, about)
	if err != nil {
		return nil, err
	}
	for _, event := range news.Items {
		seen.NewEvents = append(seen.NewEvents, event.Reason)
	}
	nodes, err := client.CoreV1().Nodes().List(limit, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, each := range nodes.Items {
		place := Place{Zone: topology.GetZoneKey(&each), ProviderID: each.Spec.ProviderID}
		if hosts, err := node.GetNodeHostIPs(&each); err == nil {
			place.Host = hosts[0].String()
		}
		seen.Nodes[each.Name] = place
	}
	return seen, nil
}

// addressed answers the Service once it has an address.
func addressed(limit context.Context, client kubernetes.Interface, namespace, name string) (*corev1.Service, error) {
	only := fields.OneTermEqualSelector("metadata.name", name).String()
	services := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = only
			return client.CoreV1().Services(namespace).List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			options.FieldSelector = only
			return client.CoreV1().Services(namespace).Watch(ctx, options)
		},
	}
	event, err := watch.UntilWithSync(limit, services, &corev1.Service{}, nil, func(event apiwatch.Event) (bool, error) {
		service, ok := event.Object.(*corev1.Service)
		return ok && len(service.Status.LoadBalancer.Ingress) > 0, nil
	})
	if err != nil {
		return nil, err
	}
	return event.Object.(*corev1.Service), nil
}
