/** Reads the header `Prefer` (RFC 7240). Preferences that the service does not know are ignored. */

/** True when the client asks where each figure comes from. */
export const hasProvenance = (header: string | undefined): boolean =>
  header !== undefined && header.split(",").some((preference) => provenance.test(preference))

const provenance = /^\s*provenance\s*(?:;|$)/i
