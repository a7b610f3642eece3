declare module "parse-prometheus-text-format" {
  interface Family {
    readonly name: string
    readonly type: string
    readonly metrics: ReadonlyArray<{
      readonly value?: string
      readonly labels?: Readonly<Record<string, string>>
    }>
  }
  export default function parse(text: string): ReadonlyArray<Family>
}
