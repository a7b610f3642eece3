import { testSeeds } from "./seedSuite.ts"

testSeeds([101, 126, 151, 176])
