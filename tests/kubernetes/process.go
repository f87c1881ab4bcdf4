package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// How long a component may take to end by itself.
const stopLimit = 5 * time.Second

// process is a running component. It writes its log beside its data.
type process struct {
	name    string
	flags   []string
	log     string
	command *exec.Cmd
	asked   chan struct{} // closed when it is asked to end
	gone    chan struct{} // closed when it has ended
}

// program is how to run a component: the one in $KUBEBUILDER_ASSETS if it is there, or this program.
func program(name string) []string {
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		path := filepath.Join(assets, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return []string{path}
		}
	}
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return []string{self, name}
}

func launch(name, dir string, flags []string, ended chan<- *process) (*process, error) {
	path := filepath.Join(dir, name+".log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	words := append(program(name), flags...)
	command := exec.Command(words[0], words[1:]...)
	command.Stdout, command.Stderr = log, log
	command.Dir = dir
	// Nothing of the person who runs this is read: kwok and kubectl look for files there.
	command.Env = append(os.Environ(), "HOME="+dir, "KUBECONFIG=")
	command.SysProcAttr = withParent()
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{
		name: name, flags: flags, log: path, command: command,
		asked: make(chan struct{}), gone: make(chan struct{}),
	}
	go func() {
		_ = command.Wait()
		close(p.gone)
		select {
		case <-p.asked:
		default:
			ended <- p
		}
	}()
	return p, nil
}

// stop asks the component to end, and makes it end if it does not. Nothing happens to one that was
// stopped before.
func (p *process) stop() {
	select {
	case <-p.asked:
		return
	default:
		close(p.asked)
	}
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.gone:
	case <-time.After(stopLimit):
		_ = p.command.Process.Kill()
		<-p.gone
	}
}

// failure tells of an end that nobody asked for, with the last words of the log.
func (p *process) failure() error {
	text, _ := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := lines[max(0, len(lines)-15):]
	return fmt.Errorf("%s ended: %s\n  %s", p.name, p.command.ProcessState, strings.Join(last, "\n  "))
}
