import { testSeeds } from "./seeds.ts"

testSeeds([101, 126, 151, 176])
