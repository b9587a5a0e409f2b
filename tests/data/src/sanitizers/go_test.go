package main
import ("testing";"sync")
func TestRace(t *testing.T) { var wg sync.WaitGroup; b := &box{}; wg.Add(2); go b.add(&wg); go b.add(&wg); wg.Wait() }
