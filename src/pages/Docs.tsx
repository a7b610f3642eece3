import { renderToStaticMarkup } from "preact-render-to-string"
export const render = (document: object) =>
  renderToStaticMarkup(<pre>{JSON.stringify(document)}</pre>)
