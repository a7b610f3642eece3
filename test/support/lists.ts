/** Files with lists of URLs, which `authority check`, the console and the client pay alike. */
interface Fixture {
  readonly name: string
  readonly content: string | Uint8Array
  readonly urls: ReadonlyArray<string>
  /** The number of distinct targets. Each target is paid once. */
  readonly targets: number
  /** The number of valid URLs whose target an earlier URL has; 0 when absent. */
  readonly duplicates?: number
  /** The name of the column with the URLs; undefined when the list is not a CSV. */
  readonly column?: string
  /** True for bytes that are not UTF-8. */
  readonly isGuessed?: boolean
  /** The URLs whose host is guessed. */
  readonly guessed?: ReadonlyArray<string>
}

const two = ["a.com", "https://b.com/x,y#z"]
const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, "utf16le")
const commas = ["https://a.com/x,y.html", "https://a.com/?q=1,2", "localhost,z"]

export const fixtures: ReadonlyArray<Fixture> = [
  {
    name: "lines with a byte order mark, comments, blank lines, spaces and line ends of all kinds",
    targets: 2,
    content: "\uFEFFa.com\r\n\r\n  \n# no\n  # nor this\n\tb.com \r#\nlocalhost\nnot a url\n=1+1",
    urls: ["a.com", "b.com", "localhost", "not", "a", "url", "=1+1"],
  },
  {
    name: "lines in UTF-16 with the low byte first",
    targets: 2,
    content: utf16("a.com\r\nbücher.de\r\n"),
    urls: ["a.com", "bücher.de"],
  },
  {
    name: "lines in UTF-16 with the high byte first",
    targets: 2,
    content: utf16("a.com\r\nbücher.de\r\n").swap16(),
    urls: ["a.com", "bücher.de"],
  },
  { name: "an empty list", targets: 0, content: " \n\n", urls: [] },
  {
    name: "lines with a header",
    targets: 2,
    content: "Domain\na.com\nb.com",
    urls: ["a.com", "b.com"],
  },
  {
    name: "lines of URLs that contain commas",
    targets: 2,
    content: commas.join("\n"),
    urls: commas,
  },
  {
    name: "lines of text that contain commas",
    targets: 0,
    content: "one, two\nthree, four\n",
    urls: ["one", "two", "three", "four"],
  },
  {
    name: "lines with several URLs",
    targets: 10,
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
    targets: 4,
    content: "a.com\tb.com\nc.com\td.com",
    urls: ["a.com", "b.com", "c.com", "d.com"],
  },
  {
    name: "a CSV with commas, quotation marks, a comment and a short row",
    targets: 2,
    content:
      '\uFEFFName,URL\r\n"A, Inc.",a.com\r\n\r\n# no\r\nC\r\n"B ""b""","https://b.com/x,y#z"\r\n',
    urls: two,
    column: "URL",
  },
  {
    name: "a CSV with semicolons and decimal commas",
    targets: 2,
    content: "Nr;Wert;Seite des Kunden\n1;2,5;a.com\n2;3,5;https://b.com/x,y#z\n",
    urls: two,
    column: "Seite des Kunden",
  },
  {
    name: "a CSV with tabs and no header",
    targets: 2,
    content: "1\ta.com\t5\n2\thttps://b.com/x,y#z\t6",
    urls: two,
    column: "column 2",
  },
  {
    name: "a CSV with line breaks in quoted cells",
    targets: 2,
    content: 'note,url\r\n"two\r\nlines, a.org",a.com\r\n"\n",https://b.com/x;y\r\n',
    urls: ["a.com", "https://b.com/x;y"],
    column: "url",
  },
  {
    name: "a CSV with one quoted column",
    targets: 2,
    content: '"Address"\n"a.com"\n"https://b.com/x,y#z"\n',
    urls: two,
    column: "Address",
  },
  {
    name: "a CSV with two columns of URLs, one of which has a usual name",
    targets: 2,
    content: "id,url,rival\n1,a.com,x.com\n2,b.com,y.com\n",
    urls: ["a.com", "b.com"],
    column: "url",
  },
  {
    name: "an export of Semrush",
    targets: 2,
    content:
      "URL;Traffic (%);Number of Keywords;Traffic;Traffic Change\n" +
      "https://a.com/;45,10;120;2300;-4\nhttps://a.com/blog/?p=1;5,02;7;250;0\n",
    urls: ["https://a.com/", "https://a.com/blog/?p=1"],
    column: "URL",
  },
  {
    name: "a CSV that names its separator",
    targets: 2,
    content: "\uFEFFsep=;\r\nKunde;Seite\r\nMüller;a.com\r\n;https://b.com/x,y#z\r\n",
    urls: two,
    column: "Seite",
  },
  {
    name: "a CSV that names an unusual separator, in UTF-16",
    targets: 2,
    content: utf16('"sep=|"\r\nURL|DR\r\na.com|1\r\nhttps://b.com/x,y#z|2\r\n'),
    urls: two,
    column: "URL",
  },
  {
    name: "a CSV with comments before its header",
    targets: 2,
    content: '# made by a program\n#, on a Tuesday\nURL,DR\na.com,1\n"https://b.com/x,y#z",2\n',
    urls: two,
    column: "URL",
  },
  {
    name: "a CSV whose first column has the name #",
    targets: 2,
    content: "#,Domain,Rating\n1,a.com,91\n2,b.com,15\n",
    urls: ["a.com", "b.com"],
    column: "Domain",
  },
  {
    name: "a CSV with a title and a date before its header",
    targets: 2,
    content:
      '"Top pages"\n"Nov 1, 2026 - Nov 24, 2026"\n\nTop pages,Clicks,Impressions\n' +
      '"https://a.com/","1","20"\n"https://a.com/b,c","0","3"\n',
    urls: ["https://a.com/", "https://a.com/b,c"],
    column: "Top pages",
  },
  {
    name: "a sheet with a title, whose rows have the same number of cells",
    targets: 2,
    content:
      "Report;;;\r\nStand;24.11.2026;;\r\n;;;\r\nNr;Adresse;Wert;Land\r\n1;a.com;1,5;de\r\n2;b.com;2,5;\r\n",
    urls: ["a.com", "b.com"],
    column: "Adresse",
  },
  {
    name: "a sheet whose date fills more than half of its columns",
    targets: 2,
    content: "Report Q3,,\nDate,2026-01-01,\n\nPlace,da,x\na.com,1,2\nb.com,1,2\n",
    urls: ["a.com", "b.com"],
    column: "Place",
  },
  {
    name: "a CSV whose first row has no URL and more cells than the header has names",
    targets: 1,
    content: "Website,da,\nlocalhost,1,x\na.com,2,\n",
    urls: ["localhost", "a.com"],
    column: "Website",
  },
  {
    name: "a CSV in Windows-1252",
    targets: 2,
    content: Buffer.from(
      "Straße;Größe\r\nbücher.de;1€\r\nmüller.de;2\r\n".replace("€", "\x80"),
      "latin1",
    ),
    urls: ["bücher.de", "müller.de"],
    column: "Straße",
    isGuessed: true,
    guessed: ["bücher.de", "müller.de"],
  },
  {
    name: "lines in UTF-8 with accents, and no byte order mark",
    targets: 2,
    content: "bücher.de\n例え.jp\n",
    urls: ["bücher.de", "例え.jp"],
  },
  {
    name: "an export of Screaming Frog",
    targets: 4,
    duplicates: 2,
    content:
      '\uFEFF"Address","Content Type","Status Code","Indexability","Title 1","Meta Description 1","Canonical Link Element 1","Word Count","Response Time","Last Modified"\n' +
      '"https://shop.com/","text/html; charset=utf-8","200","Indexable","Shop, the ""best""\nof all","=1+1","https://shop.com/","1204","0.213",""\n' +
      '"https://shop.com/a,b","text/html; charset=utf-8","200","Indexable","","","https://shop.com/a,b","-4","0.1","Tue, 24 Nov 2026"\n' +
      '"http://shop.com/","text/html; charset=utf-8","301","Non-Indexable","","","https://shop.com/","0","0.05",""\n' +
      '"https://www.shop.com/","text/html","200","Indexable","Shop","","","7","0.3",""\n' +
      '"https://shop.com/ä?q=1&r=2","text/html","404","Non-Indexable","","","","0","0.2",""\n' +
      '"https://shop.com/%C3%A4?q=1&r=2#x","text/html","404","Non-Indexable","","","","0","0.2",""\n' +
      '"mailto:a@shop.com","","0","","","","","0","",""\n',
    urls: [
      "https://shop.com/",
      "https://shop.com/a,b",
      "http://shop.com/",
      "https://www.shop.com/",
      "https://shop.com/ä?q=1&r=2",
      "https://shop.com/%C3%A4?q=1&r=2#x",
      "mailto:a@shop.com",
    ],
    column: "Address",
  },
  {
    name: "an export of Ahrefs",
    targets: 3,
    duplicates: 2,
    content: utf16(
      '"#"\t"Domain"\t"Domain rating"\t"Dofollow ref. domains"\t"Traffic"\t"First seen"\r\n' +
        '"1"\t"a.com"\t"91.0"\t"1200"\t"1,204"\t"2024-01-02 03:04:05"\r\n' +
        '"2"\t"b.co.uk"\t"15.5"\t""\t""\t""\r\n' +
        '"3"\t"A.com"\t"91.0"\t"1200"\t"1,204"\t"2024-01-02 03:04:05"\r\n' +
        '"4"\t"bücher.de"\t"3"\t"1"\t"-2"\t""\r\n' +
        '"5"\t"xn--bcher-kva.de"\t"3"\t"1"\t"+2"\t""\r\n',
    ),
    urls: ["a.com", "b.co.uk", "A.com", "bücher.de", "xn--bcher-kva.de"],
    column: "Domain",
  },
  {
    name: "an export of Search Console",
    targets: 2,
    duplicates: 2,
    content:
      "Top pages,Clicks,Impressions,CTR,Position\n" +
      "https://a.com/,12,340,3.53%,8.1\nhttps://a.com/ä,0,3,0%,40\n" +
      "https://a.com/#:~:text=price,1,9,11.11%,2.5\nhttps://a.com/,12,340,3.53%,8.1\n",
    urls: ["https://a.com/", "https://a.com/ä", "https://a.com/#:~:text=price", "https://a.com/"],
    column: "Top pages",
  },
  {
    name: "an export of Search Console in German, with a summary, in Windows-1252",
    targets: 2,
    content: Buffer.from(
      "Häufigste Seiten;Klicks;Veränderung\r\nhttps://a.com/;12;-3,5%\r\n" +
        "https://a.com/über;1.204;+12\r\nSumme;1.216;\r\n",
      "latin1",
    ),
    urls: ["https://a.com/", "https://a.com/über", "Summe"],
    column: "Häufigste Seiten",
    isGuessed: true,
  },
  {
    name: "a CSV with duplicates of every kind",
    targets: 6,
    duplicates: 11,
    content:
      "Address,Status\nhttps://a.com/,200\nhttps://a.com/,200\nhttp://A.com,301\na.com.,\n" +
      "//a.com,\nhttps://a.com:443/,\nhttps://a.com/#top,200\nhttps://a.com/x/../,\n" +
      "https://a.com/?,\nwww.a.com,\nhttps://a.com/%C3%A4,\nhttps://a.com/ä,\n" +
      "https://a.com/x,\nhttps://a.com/x/,\nbücher.de,\nBÜCHER.de,\nxn--bcher-kva.de,\n",
    urls: [
      "https://a.com/",
      "https://a.com/",
      "http://A.com",
      "a.com.",
      "//a.com",
      "https://a.com:443/",
      "https://a.com/#top",
      "https://a.com/x/../",
      "https://a.com/?",
      "www.a.com",
      "https://a.com/%C3%A4",
      "https://a.com/ä",
      "https://a.com/x",
      "https://a.com/x/",
      "bücher.de",
      "BÜCHER.de",
      "xn--bcher-kva.de",
    ],
    column: "Address",
  },
  {
    name: "lines of quoted URLs and of single ones",
    targets: 4,
    content: '"a.com","b.com"\nc.com\nd.com\n',
    urls: ["a.com", "b.com", "c.com", "d.com"],
  },
  {
    name: "one line of quoted URLs",
    targets: 2,
    content: '"a.com","b.com"\n',
    urls: ["a.com", "b.com"],
  },
  {
    name: "a line with two URLs",
    targets: 2,
    content: "https://example.com/ https://example.org/",
    urls: ["https://example.com/", "https://example.org/"],
  },
  {
    name: "lines with white space of any kind, and with characters that end a URL",
    targets: 8,
    content:
      "https://a.com/1 <a.com/2>\u3000a.com/3，a.com/4|a.com/5\n" +
      'https://a.com/6"https://a.com/7"\nsee https://ja.wikipedia.org/wiki/日本\nhttps://a.com/1 ,x y',
    duplicates: 1,
    urls: [
      "https://a.com/1",
      "a.com/2",
      "a.com/3",
      "a.com/4",
      "a.com/5",
      "https://a.com/6",
      "https://a.com/7",
      "see",
      "https://ja.wikipedia.org/wiki/日本",
      "https://a.com/1",
      "x",
      "y",
    ],
  },
  {
    name: "a line with a remark",
    targets: 1,
    content: "https://example.com/page # competitor",
    urls: ["https://example.com/page"],
  },
  {
    name: "a table with bars",
    targets: 2,
    content: "url|da\nhttps://example.com/|1\nhttps://example.org/|2\n",
    urls: ["https://example.com/", "https://example.org/"],
    column: "url",
  },
  {
    name: "a URL and an invisible character",
    targets: 1,
    content: "https://example.org/\u200B",
    urls: ["https://example.org/"],
  },
  {
    name: "a URL between marks of its direction",
    targets: 1,
    content: "\u202Ahttps://example.com/a\u202C",
    urls: ["https://example.com/a"],
  },
  {
    name: "a URL with an invisible character inside",
    targets: 1,
    content: "https://example.com/a\u200Bb",
    urls: ["https://example.com/a\u200Bb"],
  },
  {
    name: "two spellings of one escape",
    targets: 1,
    duplicates: 1,
    content: "https://example.com/%c3%a9\nhttps://example.com/%C3%A9\n",
    urls: ["https://example.com/%c3%a9", "https://example.com/%C3%A9"],
  },
  {
    name: "domains to disavow",
    targets: 1,
    content: "# sent\ndomain:spam1.example.com\n",
    urls: ["spam1.example.com"],
  },
  {
    name: "the properties of Search Console",
    targets: 2,
    content: "siteUrl\nsc-domain:example.com\nhttps://www.example.org/\n",
    urls: ["example.com", "https://www.example.org/"],
  },
  {
    name: "a CSV of the properties of Search Console",
    targets: 2,
    content:
      "siteUrl,permissionLevel\nsc-domain:example.com,siteOwner\nhttps://www.example.org/,siteOwner\n",
    urls: ["example.com", "https://www.example.org/"],
    column: "siteUrl",
  },
  {
    name: "the backlinks of Ahrefs",
    targets: 1,
    content:
      "Referring page title\tReferring page URL\tTarget URL\nA\thttps://a.com/x\thttps://b.com/\n",
    urls: ["https://a.com/x"],
    column: "Referring page URL",
  },
  {
    name: "the batch analysis of Ahrefs",
    targets: 1,
    content: "Target,Mode,IP,DR\na.com/x,exact,192.0.2.1,12\n",
    urls: ["a.com/x"],
    column: "Target",
  },
  {
    name: "the backlinks of Semrush",
    targets: 1,
    content: "Page ascore,Source title,Source url,Target url\n5,A,https://a.com/x,https://b.com/\n",
    urls: ["https://a.com/x"],
    column: "Source url",
  },
  {
    name: "the backlinks of Majestic",
    targets: 1,
    content: "Target URL,Source URL,Anchor Text\nhttps://b.com/,https://a.com/x,A\n",
    urls: ["https://a.com/x"],
    column: "Source URL",
  },
  {
    name: "the referring domains of Majestic",
    targets: 1,
    content: "Item,Domain,Example\n1,a.com,b.com\n",
    urls: ["a.com"],
    column: "Domain",
  },
  {
    name: "the pages of Sitebulb",
    targets: 1,
    content: "URL,Canonical URL,HTTP Status Code\nhttps://a.com/x,https://a.com/,200\n",
    urls: ["https://a.com/x"],
    column: "URL",
  },
]

/** Files that are refused, and the words for it. */
export const refused: ReadonlyArray<
  readonly [name: string, content: string | Uint8Array, message: string]
> = [
  ["a workbook", "PK\u0003\u0004\0\0", "is a workbook or an archive; save the sheet"],
  [
    "an old workbook",
    Buffer.from("d0cf11e0a1b11ae10000000000000000", "hex"),
    "is a workbook or an archive; save the sheet",
  ],
  [
    "a picture",
    Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"),
    "is not a text file; save a spreadsheet as CSV",
  ],
  [
    "rich text",
    "{\\rtf1\\ansi\n\\f0 https://example.com/\\line\n}",
    "is rich text (RTF); save it as plain text",
  ],
  ["a page", "\uFEFF\n<!doctype html>\n<a href='https://example.com/'>", "is HTML or XML"],
  ["a JSON object", '{"url": "https://example.com/"}', "is JSON"],
  ["a JSON array", '["https://example.com/","https://example.org/"]', "is JSON"],
]
