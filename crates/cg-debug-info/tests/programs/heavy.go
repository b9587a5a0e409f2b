package main
import ("fmt";"sort";"strings")
type point struct{ x, y int }
func (p point) weigh() int { return p.x*31 ^ p.y }
func mix(a, b int) int { return a*33 + b }
func main() {
	m := map[string]int{}
	for i := 0; i < 400; i++ { k := fmt.Sprintf("k%d", i%37); m[k] += mix(i, point{i, 3}.weigh()) }
	keys := make([]string, 0, len(m))
	for k := range m { keys = append(keys, k) }
	sort.Slice(keys, func(a, b int) bool { return strings.Compare(keys[a], keys[b]) < 0 })
	fmt.Println(len(keys), m[keys[0]])
}
