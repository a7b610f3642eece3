/** The console: the check of a list, and the usage of the account. */
import { Console } from "./console/Console.tsx"
import { Header } from "./Header.tsx"
import { KeyMenu } from "./console/KeyPanel.tsx"
import { hash, startPage } from "./startPage.ts"
import { Usage } from "./Usage.tsx"

const Page = () => {
  const isUsage = hash.value === "#usage"
  return (
    <>
      <Header root="" current={isUsage ? "usage" : "console"}>
        <KeyMenu />
      </Header>
      {isUsage ? <Usage /> : <Console />}
    </>
  )
}

startPage(<Page />)
