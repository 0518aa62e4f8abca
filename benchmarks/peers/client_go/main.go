// client-go: a shared informer with a namespace index and one handler that adds keys to a workqueue. With a
// fourth argument, the number of busy workers, it prints how late the handler was for each event.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// The figures that the runner reads: seconds of all threads, seconds by the clock, bytes of resident memory.
type lap struct {
	CPU    float64 `json:"cpu"`
	Wall   float64 `json:"wall"`
	Memory float64 `json:"memory"`
}

type meter struct {
	cpu, wall, memory float64
}

func newMeter() meter {
	return meter{memory: residentBytes(), cpu: cpuSeconds(), wall: float64(time.Now().UnixNano()) / 1e9}
}

func (m *meter) lap() lap {
	now := meter{cpu: cpuSeconds(), wall: float64(time.Now().UnixNano()) / 1e9}
	now.memory = residentBytes()
	taken := lap{now.cpu - m.cpu, now.wall - m.wall, now.memory - m.memory}
	*m = newMeter()
	return taken
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return seconds(usage.Utime) + seconds(usage.Stime)
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// Resident memory after a collection, with what is free given back.
func residentBytes() float64 {
	runtime.GC()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	must(err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	must(err)
	return float64(pages * os.Getpagesize())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func number(position int) int64 {
	value, err := strconv.ParseInt(os.Args[position], 10, 64)
	must(err)
	return value
}

// For each key compute for half a millisecond, then wait as long, as for an answer.
func work(queue workqueue.TypedRateLimitingInterface[cache.ObjectName]) {
	for {
		key, _ := queue.Get()
		for end := time.Now().Add(500 * time.Microsecond); time.Now().Before(end); {
			_, err := json.Marshal(map[string]string{"key": key.String()})
			must(err)
		}
		time.Sleep(500 * time.Microsecond)
		queue.Done(key)
	}
}

func main() {
	objects, events := number(2), number(3)
	client := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://127.0.0.1:" + os.Args[1], QPS: -1})
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Apps().V1().Deployments().Informer()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	synced, done := make(chan struct{}), make(chan struct{})
	var added, updated atomic.Int64
	var delays []int64
	if len(os.Args) > 4 {
		delays = make([]int64, 0, events)
		for range number(4) {
			go work(queue)
		}
	}
	enqueue := func(obj any) {
		key, err := cache.ObjectToName(obj)
		must(err)
		queue.Add(key)
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			enqueue(obj)
			if added.Add(1) == objects {
				close(synced)
			}
		},
		UpdateFunc: func(_, obj any) {
			if delays != nil {
				delays = append(delays, time.Now().UnixNano()-obj.(*appsv1.Deployment).Generation)
			}
			enqueue(obj)
			if updated.Add(1) == events {
				close(done)
			}
		},
	})
	must(err)
	meter := newMeter()
	factory.Start(wait.NeverStop)
	<-synced
	first := meter.lap()
	if events > 0 {
		<-done
	}
	if delays != nil {
		text, err := json.Marshal(delays)
		must(err)
		fmt.Println(string(text))
		return
	}
	text, err := json.Marshal(map[string]lap{"sync": first, "events": meter.lap()})
	must(err)
	fmt.Println(string(text))
}
