package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

type box struct{ n int }

func (b *box) add(wg *sync.WaitGroup) { b.n++; wg.Done() }

func main() {
	fmt.Println("program output")
	switch os.Args[1] {
	case "race":
		var wg sync.WaitGroup
		b := &box{}
		wg.Add(2)
		go b.add(&wg)
		go b.add(&wg)
		wg.Wait()
	case "map":
		m := map[string]int{}
		go func() { m["a"] = 1 }()
		m["b"] = 2
		time.Sleep(10 * time.Millisecond)
	case "deadlock":
		c := make(chan int)
		<-c
	}
}
