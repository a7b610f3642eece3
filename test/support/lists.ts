/** Files with lists of URLs, which `authority check` and the console read alike. */
export interface Fixture {
  readonly name: string
  readonly content: string | Uint8Array
  readonly urls: ReadonlyArray<string>
  /** The name of the column with the URLs; undefined when the list is not a CSV. */
  readonly column?: string
  /** True for bytes that are not UTF-8. */
  readonly isWindows1252?: boolean
}

const two = ["a.com", "https://b.com/x,y#z"]
const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, "utf16le")
const commas = ["https://a.com/x,y.html", "https://a.com/?q=1,2", "localhost,z"]

export const fixtures: ReadonlyArray<Fixture> = [
  {
    name: "lines with a byte order mark, comments, blank lines, spaces and line ends of all kinds",
    content: "\uFEFFa.com\r\n\r\n  \n# no\n  # nor this\n\tb.com \r#\nlocalhost\nnot a url\n=1+1",
    urls: ["a.com", "b.com", "localhost", "not a url", "=1+1"],
  },
  {
    name: "lines in UTF-16 with the low byte first",
    content: utf16("a.com\r\nbücher.example\r\n"),
    urls: ["a.com", "bücher.example"],
  },
  {
    name: "lines in UTF-16 with the high byte first",
    content: utf16("a.com\r\nbücher.example\r\n").swap16(),
    urls: ["a.com", "bücher.example"],
  },
  { name: "an empty list", content: " \n\n", urls: [] },
  { name: "lines with a header", content: "Domain\na.com\nb.com", urls: ["a.com", "b.com"] },
  { name: "lines of URLs that contain commas", content: commas.join("\n"), urls: commas },
  {
    name: "lines of text that contain commas",
    content: "one, two\nthree, four\n",
    urls: ["one, two", "three, four"],
  },
  {
    name: "lines with several URLs",
    content:
      "a.com, b.com\nc.com\td.com\te.com\nhttps://a.com/x,https://b.com/y\nf.com,g.com\nh.com,",
    urls: ["a.com", "b.com", "c.com", "d.com", "e.com"].concat([
      "https://a.com/x",
      "https://b.com/y",
      "f.com",
      "g.com",
      "h.com",
    ]),
  },
  {
    name: "pasted cells that are all URLs",
    content: "a.com\tb.com\nc.com\td.com",
    urls: ["a.com", "b.com", "c.com", "d.com"],
  },
  {
    name: "a CSV with commas, quotation marks, a comment and a short row",
    content:
      '\uFEFFName,URL\r\n"A, Inc.",a.com\r\n\r\n# no\r\nC\r\n"B ""b""","https://b.com/x,y#z"\r\n',
    urls: two,
    column: "URL",
  },
  {
    name: "a CSV with semicolons and decimal commas",
    content: "Nr;Wert;Seite des Kunden\n1;2,5;a.com\n2;3,5;https://b.com/x,y#z\n",
    urls: two,
    column: "Seite des Kunden",
  },
  {
    name: "a CSV with tabs and no header",
    content: "1\ta.com\t5\n2\thttps://b.com/x,y#z\t6",
    urls: two,
    column: "column 2",
  },
  {
    name: "a CSV with line breaks in quoted cells",
    content: 'note,url\r\n"two\r\nlines, a.org",a.com\r\n"\n",https://b.com/x;y\r\n',
    urls: ["a.com", "https://b.com/x;y"],
    column: "url",
  },
  {
    name: "a CSV with one quoted column",
    content: '"Address"\n"a.com"\n"https://b.com/x,y#z"\n',
    urls: two,
    column: "Address",
  },
  {
    name: "a CSV with two columns of URLs, one of which has a usual name",
    content: "id,url,rival\n1,a.com,x.com\n2,b.com,y.com\n",
    urls: ["a.com", "b.com"],
    column: "url",
  },
  {
    name: "an export of Ahrefs",
    content: utf16(
      '"#"\t"Domain"\t"Domain rating"\t"Dofollow ref. domains"\t"First seen"\r\n' +
        '"1"\t"a.com"\t"91.0"\t"1200"\t"2024-01-02 03:04:05"\r\n"2"\t"b.co.uk"\t"15.5"\t""\t""\r\n',
    ),
    urls: ["a.com", "b.co.uk"],
    column: "Domain",
  },
  {
    name: "an export of Semrush",
    content:
      "URL;Traffic (%);Number of Keywords;Traffic;Traffic Change\n" +
      "https://a.com/;45,10;120;2300;-4\nhttps://a.com/blog/?p=1;5,02;7;250;0\n",
    urls: ["https://a.com/", "https://a.com/blog/?p=1"],
    column: "URL",
  },
  {
    name: "an export of Screaming Frog",
    content:
      '\uFEFF"Address","Content Type","Status Code","Title 1","Canonical Link Element 1"\n' +
      '"https://a.com/","text/html; charset=utf-8","200","A, the ""best""\nsite","https://a.com/"\n' +
      '"https://a.com/x,y","text/html; charset=utf-8","200","","https://a.com/x"\n',
    urls: ["https://a.com/", "https://a.com/x,y"],
    column: "Address",
  },
  {
    name: "a CSV that names its separator",
    content: "\uFEFFsep=;\r\nKunde;Seite\r\nMüller;a.com\r\n;https://b.com/x,y#z\r\n",
    urls: two,
    column: "Seite",
  },
  {
    name: "a CSV that names an unusual separator, in UTF-16",
    content: utf16('"sep=|"\r\nURL|DR\r\na.com|1\r\nhttps://b.com/x,y#z|2\r\n'),
    urls: two,
    column: "URL",
  },
  {
    name: "a CSV with comments before its header",
    content: '# made by a program\n#, on a Tuesday\nURL,DR\na.com,1\n"https://b.com/x,y#z",2\n',
    urls: two,
    column: "URL",
  },
  {
    name: "a CSV whose first column has the name #",
    content: "#,Domain,Rating\n1,a.com,91\n2,b.com,15\n",
    urls: ["a.com", "b.com"],
    column: "Domain",
  },
  {
    name: "a CSV with a title and a date before its header",
    content:
      '"Top pages"\n"Nov 1, 2026 - Nov 24, 2026"\n\nTop pages,Clicks,Impressions\n' +
      '"https://a.com/","1","20"\n"https://a.com/b,c","0","3"\n',
    urls: ["https://a.com/", "https://a.com/b,c"],
    column: "Top pages",
  },
  {
    name: "a sheet with a title, whose rows have the same number of cells",
    content:
      "Report;;;\r\nStand;24.11.2026;;\r\n;;;\r\nNr;Adresse;Wert;Land\r\n1;a.com;1,5;de\r\n2;b.com;2,5;\r\n",
    urls: ["a.com", "b.com"],
    column: "Adresse",
  },
  {
    name: "a CSV in Windows-1252",
    content: Buffer.from(
      "Straße;Größe\r\nbücher.example;1€\r\nmüller.example;2\r\n".replace("€", "\x80"),
      "latin1",
    ),
    urls: ["bücher.example", "müller.example"],
    column: "Straße",
    isWindows1252: true,
  },
  {
    name: "lines in UTF-8 with accents, and no byte order mark",
    content: "bücher.example\n例え.example\n",
    urls: ["bücher.example", "例え.example"],
  },
  {
    name: "an export of Search Console",
    content:
      "Top pages,Clicks,Impressions,CTR,Position\nhttps://a.com/,12,340,3.53%,8.1\nhttps://a.com/ä,0,3,0%,40\n",
    urls: ["https://a.com/", "https://a.com/ä"],
    column: "Top pages",
  },
  {
    name: "an export with duplicates of every kind",
    content:
      "Address,Status\nhttps://a.com/,200\nhttp://A.com,301\na.com.,\nhttps://a.com/#top,200\nhttps://a.com/,200\n",
    urls: ["https://a.com/", "http://A.com", "a.com.", "https://a.com/#top", "https://a.com/"],
    column: "Address",
  },
]
