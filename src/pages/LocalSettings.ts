/** Keeps settings on the device. Without storage, they last until the page is closed. */

export const read = (name: string): string | undefined => {
  try {
    return localStorage.getItem(name) ?? undefined
  } catch {
    return undefined
  }
}

/** Removes the setting when `value` is undefined. */
export const keep = (name: string, value: string | undefined) => {
  try {
    if (value === undefined) localStorage.removeItem(name)
    else localStorage.setItem(name, value)
  } catch {
    // The browser refuses to store anything.
  }
}
