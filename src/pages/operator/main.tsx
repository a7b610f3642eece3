/** The operator's pages, for services with an administration. */
import { useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { Header } from "../Header.tsx"
import { startPage } from "../startPage.ts"
import { Audit } from "./Audit.tsx"
import { Customer } from "./Customer.tsx"
import { Customers } from "./Customers.tsx"
import { act, api, isBusy, problem, route, signIn, signOut } from "./OperatorState.ts"
import { Overview } from "./Overview.tsx"
import { Vendors } from "./Vendors.tsx"

const Operator = () => (
  <>
    <Header root="../" current="operator" />
    <main class="operator">
      {api.value !== undefined && <Pages />}
      <div class="page">
        <div class="store" role="alert">
          {problem.value !== undefined && <p class="notice">{problem.value}</p>}
        </div>
        {api.value === undefined ? <SignIn /> : <Shown />}
      </div>
    </main>
  </>
)

const pages = ["overview", "customers", "vendors", "audit"]

const Pages = () => (
  <nav class="pages" aria-label="Administration">
    {pages.map((page) => (
      <a
        key={page}
        href={`#/${page}`}
        aria-current={route.value.page === page ? "page" : undefined}
      >
        {page.charAt(0).toUpperCase() + page.slice(1)}
      </a>
    ))}
    <p class="hint">Times and days are in UTC.</p>
    <button
      type="button"
      class="quiet"
      aria-disabled={isBusy}
      onClick={() => void act(async () => signOut())}
    >
      Sign out
    </button>
  </nav>
)

const Shown = () => {
  const { page, subject } = route.value
  // Moves the focus to the title of a new page, where screen readers also start after a load.
  useEffect(() => document.getElementById("page-title")?.focus(), [page, subject])
  if (page === "customers") return subject === "" ? <Customers /> : <Customer name={subject} />
  if (page === "vendors") return <Vendors />
  if (page === "audit") return <Audit />
  return <Overview />
}

const SignIn = () => {
  const token = useSignal("")
  const field = useRef<HTMLInputElement>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    await signIn(token.value.trim())
    field.current?.focus()
  }
  return (
    <section class="card sign-in" aria-labelledby="sign-in">
      <h1 id="sign-in">Administration</h1>
      <form onSubmit={(event) => void submit(event)}>
        <label for="token">Token</label>
        <input
          ref={field}
          id="token"
          type="password"
          autocomplete="off"
          value={token.value}
          onInput={(event) => (token.value = event.currentTarget.value)}
        />
        <button type="submit" class="primary" aria-disabled={isBusy} disabled={token.value === ""}>
          Sign in
        </button>
        <p class="hint">
          The token is the service's setting AUTHORITY_ADMIN_TOKEN. It is lost when you close or
          reload this page.
        </p>
      </form>
    </section>
  )
}

startPage(<Operator />)
