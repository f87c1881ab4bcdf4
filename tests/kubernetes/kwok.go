package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/kwok/kustomize/stage/node/fast"
	pods "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// kwokStages makes nodes ready and pods run, complete and go without delay.
var kwokStages = strings.Join([]string{
	fast.DefaultNodeInit, podReady(), podOpen, pods.DefaultPodComplete, pods.DefaultPodDelete,
}, "\n---\n")

// podReady is kwok's own stage, but without opening readiness gates, which is for others to do. A pod
// that has any waits for them.
func podReady() string {
	stage := pods.DefaultPodReady
	for _, change := range [][2]string{
		{"status: \"True\"\n        type: Ready\n", "status: {{ if .spec.readinessGates }}\"False\"{{ else }}\"True\"{{ end }}\n        type: Ready\n"},
		{"{{ range .spec.readinessGates }}", "{{ if false }}"},
	} {
		changed := strings.Replace(stage, change[0], change[1], 1)
		if changed == stage {
			panic("kwok's stage for pods is not what it was; look at " + change[0])
		}
		stage = changed
	}
	return stage
}

// podOpen makes a pod ready whose gates for load balancers say so.
const podOpen = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-open
spec:
  resourceRef:
    apiGroup: v1
    kind: Pod
  selector:
    matchExpressions:
    - key: '.metadata.deletionTimestamp'
      operator: 'DoesNotExist'
    - key: '.status.phase'
      operator: 'In'
      values: ['Running']
    - key: '.status.conditions.[] | select( .type == "Ready" ) | .status'
      operator: 'NotIn'
      values: ['True']
    - key: '.status.conditions.[] | select( .type | startswith("service.readiness.alibabacloud.com/") ) | .status'
      operator: 'In'
      values: ['True']
  next:
    statusTemplate: |
      conditions:
      - lastTransitionTime: {{ Now | Quote }}
        status: "True"
        type: Ready
`

func runKwok() int {
	// The other components in this program have flags for every command; one of them is no flag of
	// kwok's kind of the same name.
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ExitOnError)
	// kwok reads its configuration, stages among it, before it knows its other flags.
	early := pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	early.ParseErrorsAllowlist.UnknownFlags = true
	early.Usage = func() {}
	ctx, _ := log.InitFlags(signals.SetupSignalContext(), early)
	ctx, err := config.InitFlags(ctx, early)
	if err == nil {
		command := kwok.NewCommand(ctx)
		command.PersistentFlags().AddFlagSet(early)
		err = command.ExecuteContext(ctx)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "kwok: %v\n", err)
		return 1
	}
	return 0
}
