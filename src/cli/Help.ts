/**
 * Reads the help documents of @effect/cli, and formats help that is at most 80 columns wide. The
 * help that @effect/cli prints is wider, and has sentences such as "A user-defined piece of text".
 */
import { stripVTControlCharacters } from "node:util"
import * as HelpDoc from "@effect/cli/HelpDoc"
import type { Span } from "@effect/cli/HelpDoc/Span"
import * as Usage from "@effect/cli/Usage"

/** A verb such as `account`, or a subcommand such as `account create`. */
export interface Verb {
  readonly name: string
  readonly path: ReadonlyArray<string>
  readonly description: string
  /** True when the verb only groups subcommands and cannot run by itself. */
  readonly hasParts: boolean
}

/** An option such as `--credits N`, or an argument such as `NAME`. */
export interface Parameter {
  readonly name: string
  /** The `N` of `--credits N`; undefined for an argument, and for an option without a value. */
  readonly placeholder: string | undefined
  readonly description: string
  readonly isOptional: boolean
}

interface VerbHelp {
  /** Name, options and arguments, as in `create [--credits N] <NAME>`. */
  readonly usage: string
  readonly args: ReadonlyArray<Parameter>
  readonly options: ReadonlyArray<Parameter>
}

/** Lists the verbs of the program's help in the order of their declaration. */
export const verbs = (program: HelpDoc.HelpDoc): ReadonlyArray<Verb> => {
  const lines = leaves(program).flatMap((leaf) =>
    leaf._tag === "Enumeration" ? leaf.elements.map(plain) : [],
  )
  // Each line has the verb's names, its parameters, two or more spaces, and its description.
  const names = lines.map((line) => /^[a-z][\w-]*(?: [a-z][\w-]*)*/.exec(line)?.[0] ?? line)
  return names.map((name, i) => ({
    name,
    path: name.split(" "),
    description: lines[i]?.split(/ {2,}/).at(-1) ?? "",
    hasParts: names.some((other) => other.startsWith(`${name} `)),
  }))
}

/** The description of the verb, or of the program. */
export const description = (doc: HelpDoc.HelpDoc): string =>
  leaves(doc)
    .filter(({ _tag }) => _tag === "Paragraph")
    .map(plain)[0] ?? ""

/** Reads the help of one verb. */
export const ofVerb = (doc: HelpDoc.HelpDoc, usage: Usage.Usage): VerbHelp => {
  const parameters = leaves(doc).flatMap((leaf) =>
    leaf._tag === "DescriptionList" ? leaf.definitions.map(parameter) : [],
  )
  return {
    usage: withoutChoices(plain(Usage.getHelp(usage))),
    args: parameters.filter(({ name }) => !name.startsWith("-")),
    options: parameters.filter(({ name }) => name.startsWith("-")),
  }
}

const parameter = ([span, doc]: readonly [Span, HelpDoc.HelpDoc]): Parameter => {
  const [name = "", placeholder] = withoutChoices(plain(HelpDoc.p(span)))
    .replaceAll(/[<>[\]]/g, "")
    .split(" ")
  // The help of @effect/cli describes an option or argument in paragraphs: the type of its value,
  // then our description. A further paragraph follows only if the option or argument is optional.
  const [, description, ...others] = leaves(doc).map(plain)
  return { name, placeholder, description: description ?? "", isOptional: others.length > 0 }
}

/** Changes `--format table | csv`, as @effect/cli writes it, to `--format FORMAT`. */
const withoutChoices = (usage: string) =>
  usage.replaceAll(
    /--([\w-]+) [\w-]+(?: \| [\w-]+)+/g,
    (_, name: string) => `--${name} ${name.toUpperCase()}`,
  )

const leaves = (doc: HelpDoc.HelpDoc): ReadonlyArray<HelpDoc.HelpDoc> =>
  doc._tag === "Sequence" ? [...leaves(doc.left), ...leaves(doc.right)] : [doc]

/** The text of a help document or an error, without colours. */
export const plain = (doc: HelpDoc.HelpDoc): string =>
  stripVTControlCharacters(HelpDoc.toAnsiText(doc)).trim()

type Row = readonly [left: string, right: string]

/** Formats the help of a verb without subcommands, such as `check` or `account create`. */
export const ofLeaf = (
  { description, path }: Verb,
  { args, options, usage }: VerbHelp,
  examples: ReadonlyArray<string>,
): string =>
  sections(description, [
    ["USAGE", [usageLine(["authority", ...path.slice(0, -1), usage].join(" "))]],
    ["ARGUMENTS", rows(args.map(({ description, name }) => [name, description]))],
    [
      "OPTIONS",
      rows(
        options.map(({ description, name, placeholder }): Row => [
          placeholder === undefined ? name : `${name} ${placeholder}`,
          description,
        ]),
      ),
    ],
    [examples.length > 1 ? "EXAMPLES" : "EXAMPLE", examples.map((example) => `  ${example}`)],
  ])

/** Formats the help of the program, or of a verb with subcommands. */
export const ofParts = (
  path: ReadonlyArray<string>,
  description: string,
  parts: ReadonlyArray<Verb>,
  more: ReadonlyArray<Row>,
): string => {
  const name = ["authority", ...path].join(" ")
  return sections(description, [
    ["USAGE", [`  ${name} VERB [OPTIONS]`]],
    ["VERBS", rows(parts.map(({ description, name }) => [name, description]))],
    [
      "MORE",
      rows([[`${name} VERB --help`, "Show the options of a verb, and an example"], ...more]),
    ],
  ])
}

const sections = (
  description: string,
  parts: ReadonlyArray<readonly [title: string, lines: ReadonlyArray<string>]>,
) =>
  [
    description,
    ...parts.flatMap(([title, lines]) =>
      lines.length === 0 ? [] : [[title, ...lines].join("\n")],
    ),
  ].join("\n\n")

const maxColumns = 80

const rows = (pairs: ReadonlyArray<Row>): ReadonlyArray<string> => {
  const width = Math.max(...pairs.map(([left]) => left.length))
  return pairs.map(([left, right]) => wrapped(`  ${left.padEnd(width)}  `, right.split(" ")))
}

/**
 * Breaks the usage into lines. A line break is between two parameters, never within a parameter.
 */
const usageLine = (usage: string) => {
  const [names = "", ...parameters] = usage.split(/ (?=\[|<|--)/)
  return wrapped(`  ${names} `, parameters)
}

/**
 * Appends the words to `start`, and breaks lines between words so that a line has at most
 * `maxColumns` characters. Further lines are indented by the length of `start`.
 */
const wrapped = (start: string, words: ReadonlyArray<string>) => {
  const lines: Array<string> = []
  for (const word of words) {
    const longer = [...lines.slice(-1), word].join(" ")
    if (lines.length === 0 || start.length + longer.length > maxColumns) lines.push(word)
    else lines[lines.length - 1] = longer
  }
  return [
    start + (lines[0] ?? ""),
    ...lines.slice(1).map((line) => " ".repeat(start.length) + line),
  ]
    .map((line) => line.trimEnd())
    .join("\n")
}
