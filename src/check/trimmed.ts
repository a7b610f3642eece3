/** Removes white space and invisible format characters, such as U+200B, from both ends of a text. */
export const trimmed = (text: string): string =>
  /[^\p{White_Space}\p{Cf}](?:.*[^\p{White_Space}\p{Cf}])?/su.exec(text)?.[0] ?? ""
