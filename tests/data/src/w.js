function leaf(n){let s=0;for(let i=0;i<n;i++)s+=Math.sqrt(i);return s}
function rec(n){return n?rec(n-1)+leaf(2e4):leaf(2e5)}
class K{ heavy(){let s=0;for(let i=0;i<200;i++)s+=rec(5);return s} }
const anon=[()=>leaf(3e6),function(){return "x".repeat(1e6).split("").map(x=>x+1).length}];
for(let i=0;i<4;i++){new K().heavy();anon[0]();anon[1]()}
