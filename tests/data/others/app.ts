interface Sample { name: string; hits: number }
const all: Sample[] = [];
export default all;
