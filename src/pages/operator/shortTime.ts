/** An ISO time to the minute, in UTC. */
export const shortTime = (iso: string) => iso.slice(0, 16).replace("T", " ")
