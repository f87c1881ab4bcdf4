package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// How long everything may take to come up. It takes some 5 s on two idle cores.
const startLimit = 2 * time.Minute

// Ports are picked before they are bound: another process may be faster.
const attempts = 3

// Cluster is what `up` prints as one line of JSON once everything runs.
type Cluster struct {
	Server     string         `json:"server"`
	Kubeconfig string         `json:"kubeconfig"` // of an administrator
	CA         string         `json:"ca"`
	AuditLog   string         `json:"auditLog"` // one audit.k8s.io/v1 Event a line
	Kubectl    []string       `json:"kubectl"`  // program and first arguments
	Dir        string         `json:"dir"`
	Pids       map[string]int `json:"pids"`
}

// up starts a control plane, tells where it is, waits until standard input closes or a signal
// comes, and stops it. It leaves nothing behind: whoever started it may die in any way, its end of
// the pipe closes with it; and should this process be killed, the kernel kills the components.
//
// A line "halt COMPONENT" of its input stops that one alone, "resume COMPONENT" starts it with the
// same flags; once that is done, the description is printed anew.
func up(args []string) error {
	// The kernel ties a child to the thread that started it, and the main thread is the one that
	// lives as long as the process.
	runtime.LockOSThread()
	flags := flag.NewFlagSet("up", flag.ExitOnError)
	parent := flags.String("dir", "", "where to make the folder of data, logs and credentials (default: the temporary folder)")
	keep := flags.Bool("keep", false, "leave that folder behind")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(*parent, "control-plane-")
	if err != nil {
		return err
	}
	if !*keep {
		defer os.RemoveAll(dir)
	}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	wishes := make(chan string)
	go func() {
		defer cancel()
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			select {
			case wishes <- lines.Text():
			case <-stop.Done():
				return
			}
		}
	}()

	for attempt := 1; ; attempt++ {
		plane := newPlane(filepath.Join(dir, fmt.Sprint(attempt)))
		cluster, err := plane.start(stop)
		if err == nil {
			err = serve(stop, plane, cluster, wishes)
		} else if !errors.Is(err, context.Canceled) && attempt < attempts {
			fmt.Fprintf(os.Stderr, "control-plane: %v; trying once more\n", err)
			plane.stop()
			continue
		}
		plane.stop()
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}
}

// serve tells that the cluster is there, grants wishes, and waits for the end: of the wish for the
// cluster, or of a part of it.
func serve(stop context.Context, plane *plane, cluster Cluster, wishes <-chan string) error {
	told := json.NewEncoder(os.Stdout)
	for {
		if err := told.Encode(cluster); err != nil {
			return err
		}
		select {
		case <-stop.Done():
			return context.Canceled
		case failed := <-plane.ended:
			return failed.failure()
		case wish := <-wishes:
			if err := grant(stop, plane, wish); err != nil {
				return err
			}
			cluster = plane.describe()
		}
	}
}

func grant(stop context.Context, plane *plane, wish string) error {
	verb, name, _ := strings.Cut(wish, " ")
	switch verb {
	case "halt":
		return plane.halt(name)
	case "resume":
		return plane.resume(stop, name)
	}
	return fmt.Errorf("unknown wish %q", wish)
}
