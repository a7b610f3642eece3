/** Escapes invisible characters and those that change how the text around them is displayed. */
export const printable = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )

/**
 * Removes white space and invisible format characters, such as U+200B, from both ends of a text.
 */
export const trimmed = (text: string): string =>
  /[^\p{White_Space}\p{Cf}](?:.*[^\p{White_Space}\p{Cf}])?/su.exec(text)?.[0] ?? ""
