/** The script of the guide's pages. It applies the colours that the user chose. */
import * as Theme from "../Theme.ts"

Theme.start()
