/** Starts Scalar in the page of the API reference. */
declare const Scalar: {
  readonly createApiReference: (selector: string, options: Record<string, unknown>) => unknown
}

Scalar.createApiReference("#api", {
  url: "openapi.json",
  servers: [{ url: new URL(".", location.href).href.replace(/\/$/, "") }],
  // The page requests nothing from Scalar's servers.
  withDefaultFonts: false,
  telemetry: false,
  showToolbar: "never",
  hideClientButton: true,
})
