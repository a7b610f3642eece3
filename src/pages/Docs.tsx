/**
 * Renders the OpenAPI document as a static HTML page at build time. The page is complete without
 * its script and makes no requests.
 */
import type { ComponentChildren } from "preact"
import { renderToStaticMarkup } from "preact-render-to-string"
import * as v from "valibot"
import type { GuideLink } from "./Guide.tsx"

interface Schema {
  readonly $ref?: string | undefined
  readonly type?: string | undefined
  readonly description?: string | undefined
  readonly properties?: Readonly<Record<string, Schema>> | undefined
  readonly required?: ReadonlyArray<string> | undefined
  readonly items?: Schema | undefined
  readonly oneOf?: ReadonlyArray<Schema> | undefined
  readonly enum?: ReadonlyArray<unknown> | undefined
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
  readonly minItems?: number | undefined
  readonly maxItems?: number | undefined
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
  readonly examples?: ReadonlyArray<unknown> | undefined
}

const Schema: v.GenericSchema<unknown, Schema> = v.object({
  $ref: v.optional(v.string()),
  type: v.optional(v.string()),
  description: v.optional(v.string()),
  properties: v.optional(
    v.record(
      v.string(),
      v.lazy(() => Schema),
    ),
  ),
  required: v.optional(v.array(v.string())),
  items: v.optional(v.lazy(() => Schema)),
  oneOf: v.optional(v.array(v.lazy(() => Schema))),
  enum: v.optional(v.array(v.unknown())),
  minimum: v.optional(v.number()),
  maximum: v.optional(v.number()),
  minItems: v.optional(v.number()),
  maxItems: v.optional(v.number()),
  minLength: v.optional(v.number()),
  maxLength: v.optional(v.number()),
  examples: v.optional(v.array(v.unknown())),
})

const Content = v.object({ "application/json": v.object({ schema: Schema }) })

const Field = v.object({ description: v.string(), schema: Schema })

const Operation = v.object({
  operationId: v.string(),
  summary: v.string(),
  description: v.string(),
  parameters: v.optional(
    v.array(v.object({ ...Field.entries, name: v.string(), required: v.boolean() })),
    [],
  ),
  requestBody: v.optional(v.object({ content: Content })),
  responses: v.record(
    v.string(),
    v.object({
      description: v.string(),
      content: Content,
      headers: v.record(v.string(), Field),
    }),
  ),
})
type Operation = v.InferOutput<typeof Operation>

const Document = v.object({
  info: v.object({ title: v.string(), version: v.string(), description: v.string() }),
  paths: v.record(v.string(), v.record(v.string(), Operation)),
  components: v.object({
    schemas: v.record(v.string(), Schema),
    securitySchemes: v.record(
      v.string(),
      v.object({ name: v.string(), in: v.literal("header"), description: v.string() }),
    ),
  }),
})

export const render = (openApi: unknown, guide: ReadonlyArray<GuideLink>): string => {
  const { components, info, paths } = v.parse(Document, openApi)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, operation, path })),
  )
  return renderToStaticMarkup(
    <>
      <header>
        <h1>
          {info.title} <small>{info.version}</small>
        </h1>
        <nav aria-label="Site">
          <a href="console">Console</a>
          <a href="openapi.json">openapi.json</a>
        </nav>
      </header>
      <main>
        {info.description.split("\n\n").map((paragraph) => (
          <p key={paragraph}>
            <Marked text={paragraph} />
          </p>
        ))}
        <nav aria-label="Guide" class="guide">
          {guide.map(({ href, title }) => (
            <a key={href} href={href}>
              {title}
            </a>
          ))}
        </nav>
        <h2>Authentication</h2>
        {Object.values(components.securitySchemes).map(({ description, name }) => (
          <p key={name}>
            Every request needs the header <code>{name}</code>. {description}
          </p>
        ))}
        {operations.map(({ method, operation, path }) => (
          <Endpoint
            key={operation.operationId}
            method={method.toUpperCase()}
            path={path}
            operation={operation}
            schemas={components.schemas}
          />
        ))}
        <section aria-labelledby="schemas">
          <h2 id="schemas">Bodies</h2>
          {Object.entries(components.schemas).map(([name, schema]) => (
            <Body key={name} name={name} schema={schema} />
          ))}
        </section>
      </main>
    </>,
  )
}

const Endpoint = ({
  method,
  operation,
  path,
  schemas,
}: {
  readonly method: string
  readonly path: string
  readonly operation: Operation
  readonly schemas: Readonly<Record<string, Schema>>
}) => {
  const body = operation.requestBody?.content["application/json"].schema
  return (
    <section aria-labelledby={operation.operationId}>
      <h2 id={operation.operationId}>{operation.summary}</h2>
      <p class="route">
        <b>{method}</b> <code>{path}</code>
      </p>
      <p>
        <Marked text={operation.description} />
      </p>
      {operation.parameters.map(({ description, name, required }) => (
        <p key={name}>
          Header <code>{name}</code>
          {required ? "" : ", optional"}: <Marked text={description} />
        </p>
      ))}
      <pre tabIndex={0} role="region" aria-label={`Example call: ${operation.summary}`}>
        {[
          `curl -s ${method === "GET" ? "" : `-X ${method} `}$BASE${path} -H 'x-api-key: am_…'`,
          ...(body === undefined
            ? []
            : [
                "  -H 'content-type: application/json'",
                `  -d '${JSON.stringify(schemas[nameOf(body)]?.examples?.[0])}'`,
              ]),
        ].join(" \\\n")}
      </pre>
      {body !== undefined && (
        <>
          <h3>
            Request: <Link to={nameOf(body)} />
          </h3>
          <Example
            of={schemas[nameOf(body)]}
            label={`Example request body: ${operation.summary}`}
          />
        </>
      )}
      <h3>Answers</h3>
      <Scrolled label={`Possible answers: ${operation.summary}`}>
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">When</th>
            <th scope="col">Body</th>
            <th scope="col">Headers</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(operation.responses).map(([status, response]) => (
            <tr key={status}>
              <th scope="row">{status}</th>
              <td>
                <Marked text={response.description} />
              </td>
              <td>
                <Link to={nameOf(response.content["application/json"].schema)} />
              </td>
              <td>
                {Object.entries(response.headers).map(([name, header]) => (
                  <div key={name} title={header.description}>
                    <code>{name}</code>
                  </div>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </Scrolled>
      <Headers of={operation} />
    </section>
  )
}

const Headers = ({ of: { responses } }: { readonly of: Operation }) => {
  const headers = Object.assign({}, ...Object.values(responses).map(({ headers }) => headers))
  return (
    <dl>
      {Object.entries(v.parse(v.record(v.string(), Field), headers)).map(
        ([name, { description, schema }]) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>
              <Marked text={description} /> Example: <code>{String(schema.examples?.[0])}</code>
            </dd>
          </div>
        ),
      )}
    </dl>
  )
}

const Body = ({ name, schema }: { readonly name: string; readonly schema: Schema }) => (
  <section aria-labelledby={name}>
    <h3 id={name}>{name}</h3>
    <p>
      <Marked text={schema.description ?? ""} />
    </p>
    {schema.oneOf !== undefined && (
      <ul>
        {schema.oneOf.map((variant) => (
          <li key={nameOf(variant)}>
            <Link to={nameOf(variant)} />
          </li>
        ))}
      </ul>
    )}
    {schema.oneOf === undefined && !isPlainError(schema) && (
      <Scrolled label={`Fields of ${name}`}>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Type</th>
            <th scope="col">Meaning</th>
          </tr>
        </thead>
        <tbody>
          {fieldsOf(schema).map(({ isRequired, path, schema }) => (
            <tr key={path}>
              <th scope="row">
                <code>{path}</code>
              </th>
              <td>
                <Type of={schema} />
                {isRequired ? "" : ", may be absent"}
              </td>
              <td>
                <Marked text={schema.description ?? ""} />
              </td>
            </tr>
          ))}
        </tbody>
      </Scrolled>
    )}
    <Example of={schema} label={`Example of ${name}`} />
  </section>
)

/**
 * True for an error body with only the fields `success` and `message`. Its example shows both fields,
 * so the page has no table of fields for it.
 */
const isPlainError = ({ properties = {} }: Schema) =>
  Object.keys(properties).join() === "success,message"

interface Entry {
  readonly path: string
  readonly schema: Schema
  readonly isRequired: boolean
}

/** Lists every field of a schema with its path, also the fields of nested objects and arrays. */
const fieldsOf = (schema: Schema, prefix = ""): ReadonlyArray<Entry> =>
  Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`
    const isRequired = schema.required?.includes(name) ?? false
    return [
      { path, schema: field, isRequired },
      ...fieldsOf(field, `${path}.`),
      ...(field.items === undefined ? [] : itemsOf(field.items, `${path}[]`)),
    ]
  })

const itemsOf = (item: Schema, path: string): ReadonlyArray<Entry> => [
  ...(item.$ref === undefined ? [{ path, schema: item, isRequired: true }] : []),
  ...fieldsOf(item, `${path}.`),
]

const Type = ({ of }: { readonly of: Schema }) => {
  if (of.$ref !== undefined) return <Link to={nameOf(of)} />
  if (of.enum !== undefined) {
    return (
      <>
        {of.enum.map((value, index) => (
          <span key={index}>
            {index === 0 ? "" : " or "}
            <code>{JSON.stringify(value)}</code>
          </span>
        ))}
      </>
    )
  }
  return (
    <>
      {of.type}
      {of.items?.$ref !== undefined && (
        <>
          {" "}
          of <Link to={nameOf(of.items)} />
        </>
      )}
      <Bounds from={of.minItems} to={of.maxItems} unit=" items" />
      <Bounds from={of.minLength} to={of.maxLength} unit=" characters" />
      <Bounds from={of.minimum} to={of.maximum} unit="" />
    </>
  )
}

const Bounds = ({
  from,
  to,
  unit,
}: {
  readonly from: number | undefined
  readonly to: number | undefined
  readonly unit: string
}) =>
  from === undefined && to === undefined ? null : (
    <>
      , {from === undefined ? "at most" : to === undefined ? `at least ${from}` : `${from} to`} {to}
      {unit}
    </>
  )

const Example = ({ label, of }: { readonly of: Schema | undefined; readonly label: string }) =>
  of?.examples === undefined ? null : (
    // The `tabIndex` lets the arrow keys scroll an example that is wider than the screen.
    <pre tabIndex={0} role="region" aria-label={label}>
      {JSON.stringify(of.examples[0], undefined, 2)}
    </pre>
  )

const Scrolled = ({
  children,
  label,
}: {
  readonly children: ComponentChildren
  readonly label: string
}) => (
  <div class="scrolled" tabIndex={0} role="region" aria-label={label}>
    <table>{children}</table>
  </div>
)

const nameOf = ({ $ref }: Schema) => $ref?.split("/").at(-1) ?? ""

const Link = ({ to }: { readonly to: string }) => <a href={`#${to}`}>{to}</a>

/** Renders text between backticks as code. */
const Marked = ({ text }: { readonly text: string }) => (
  <>
    {text
      .split("`")
      .map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>))}
  </>
)
