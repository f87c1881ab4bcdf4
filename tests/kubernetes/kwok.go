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
	fast.DefaultNodeInit, pods.DefaultPodReady, pods.DefaultPodComplete, pods.DefaultPodDelete,
}, "\n---\n")

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
