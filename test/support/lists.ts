/**
 * Files with lists of URLs, which must cost the same with `authority check`, the console and the
 * client.
 */
interface Options {
  /** The number of URLs that are not valid targets (default: 0). */
  readonly invalid?: number
  /** The number of valid URLs whose target an earlier URL already has (default: 0). */
  readonly duplicates?: number
  /** The name of the column with the URLs; undefined when the list is not a CSV. */
  readonly column?: string
  /** True if the file's bytes are not UTF-8, so that the encoding is guessed. */
  readonly isGuessed?: boolean
  /** The URLs whose host contains guessed characters. */
  readonly guessed?: ReadonlyArray<string>
}

type Fixture = ReturnType<typeof list>

/** `words` lists the URLs in the file, separated by spaces. */
const list = (
  name: string,
  content: string | Uint8Array,
  words: string,
  { duplicates = 0, invalid = 0, ...options }: Options = {},
) => {
  const urls = words.split(" ").filter(Boolean)
  /** The number of distinct targets, each of which is charged once. */
  const targets = urls.length - duplicates - invalid
  return { name, content, urls, duplicates, targets, ...options }
}

const two = "a.com https://b.com/x,y#z"
const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, "utf16le")
const commas = "https://a.com/x,y.html https://a.com/?q=1,2 localhost,z"

export const fixtures: ReadonlyArray<Fixture> = [
  list(
    "lines with a byte order mark, comments, blank lines, spaces and line ends of all kinds",
    "\uFEFFa.com\r\n\r\n  \n# no\n  # nor this\n\tb.com \r#\nlocalhost\nnot a url\n=1+1",
    "a.com b.com localhost not a url =1+1",
    { invalid: 5 },
  ),
  list(
    "lines in UTF-16 with the low byte first",
    utf16("a.com\r\nbücher.de\r\n"),
    "a.com bücher.de",
  ),
  list(
    "lines in UTF-16 with the high byte first",
    utf16("a.com\r\nbücher.de\r\n").swap16(),
    "a.com bücher.de",
  ),
  list("an empty list", " \n\n", ""),
  list("lines with a header", "Domain\na.com\nb.com", "a.com b.com"),
  list("lines of URLs that contain commas", commas.replaceAll(" ", "\n"), commas, { invalid: 1 }),
  list("lines of text that contain commas", "one, two\nthree, four\n", "one two three four", {
    invalid: 4,
  }),
  list(
    "lines with several URLs",
    "a.com, b.com\nc.com\td.com\te.com\nhttps://a.com/x,https://b.com/y\nf.com,g.com\nh.com,",
    "a.com b.com c.com d.com e.com https://a.com/x https://b.com/y f.com g.com h.com",
  ),
  list("pasted cells that are all URLs", "a.com\tb.com\nc.com\td.com", "a.com b.com c.com d.com"),
  list(
    "a CSV with commas, quotation marks, a comment and a short row",
    '\uFEFFName,URL\r\n"A, Inc.",a.com\r\n\r\n# no\r\nC\r\n"B ""b""","https://b.com/x,y#z"\r\n',
    two,
    { column: "URL" },
  ),
  list(
    "a CSV with semicolons and decimal commas",
    "Nr;Wert;Seite des Kunden\n1;2,5;a.com\n2;3,5;https://b.com/x,y#z\n",
    two,
    { column: "Seite des Kunden" },
  ),
  list("a CSV with tabs and no header", "1\ta.com\t5\n2\thttps://b.com/x,y#z\t6", two, {
    column: "column 2",
  }),
  list(
    "a CSV with line breaks in quoted cells",
    'note,url\r\n"two\r\nlines, a.org",a.com\r\n"\n",https://b.com/x;y\r\n',
    "a.com https://b.com/x;y",
    { column: "url" },
  ),
  list("a CSV with one quoted column", '"Address"\n"a.com"\n"https://b.com/x,y#z"\n', two, {
    column: "Address",
  }),
  list(
    "a CSV with two columns of URLs, one of which has a usual name",
    "id,url,rival\n1,a.com,x.com\n2,b.com,y.com\n",
    "a.com b.com",
    { column: "url" },
  ),
  list(
    "an export of Semrush",
    "URL;Traffic (%);Number of Keywords;Traffic;Traffic Change\n" +
      "https://a.com/;45,10;120;2300;-4\nhttps://a.com/blog/?p=1;5,02;7;250;0\n",
    "https://a.com/ https://a.com/blog/?p=1",
    { column: "URL" },
  ),
  list(
    "a CSV that names its separator",
    "\uFEFFsep=;\r\nKunde;Seite\r\nMüller;a.com\r\n;https://b.com/x,y#z\r\n",
    two,
    { column: "Seite" },
  ),
  list(
    "a CSV that names an unusual separator, in UTF-16",
    utf16('"sep=|"\r\nURL|DR\r\na.com|1\r\nhttps://b.com/x,y#z|2\r\n'),
    two,
    { column: "URL" },
  ),
  list(
    "a CSV with comments before its header",
    '# made by a program\n#, on a Tuesday\nURL,DR\na.com,1\n"https://b.com/x,y#z",2\n',
    two,
    { column: "URL" },
  ),
  list(
    "a CSV whose first column has the name #",
    "#,Domain,Rating\n1,a.com,91\n2,b.com,15\n",
    "a.com b.com",
    { column: "Domain" },
  ),
  list(
    "a CSV with a title and a date before its header",
    '"Top pages"\n"Nov 1, 2026 - Nov 24, 2026"\n\nTop pages,Clicks,Impressions\n' +
      '"https://a.com/","1","20"\n"https://a.com/b,c","0","3"\n',
    "https://a.com/ https://a.com/b,c",
    { column: "Top pages" },
  ),
  list(
    "a sheet with a title, whose rows have the same number of cells",
    "Report;;;\r\nStand;24.11.2026;;\r\n;;;\r\nNr;Adresse;Wert;Land\r\n1;a.com;1,5;de\r\n2;b.com;2,5;\r\n",
    "a.com b.com",
    { column: "Adresse" },
  ),
  list(
    "a sheet whose date fills more than half of its columns",
    "Report Q3,,\nDate,2026-01-01,\n\nPlace,da,x\na.com,1,2\nb.com,1,2\n",
    "a.com b.com",
    { column: "Place" },
  ),
  list(
    "a CSV whose first row has no URL and more cells than the header has names",
    "Website,da,\nlocalhost,1,x\na.com,2,\n",
    "localhost a.com",
    { column: "Website", invalid: 1 },
  ),
  list(
    "a CSV in Windows-1252",
    Buffer.from("Straße;Größe\r\nbücher.de;1€\r\nmüller.de;2\r\n".replace("€", "\x80"), "latin1"),
    "bücher.de müller.de",
    { column: "Straße", isGuessed: true, guessed: ["bücher.de", "müller.de"] },
  ),
  list(
    "lines in UTF-8 with accents, and no byte order mark",
    "bücher.de\n例え.jp\n",
    "bücher.de 例え.jp",
  ),
  list(
    "an export of Screaming Frog",
    '\uFEFF"Address","Content Type","Status Code","Indexability","Title 1","Meta Description 1","Canonical Link Element 1","Word Count","Response Time","Last Modified"\n' +
      '"https://shop.com/","text/html; charset=utf-8","200","Indexable","Shop, the ""best""\nof all","=1+1","https://shop.com/","1204","0.213",""\n' +
      '"https://shop.com/a,b","text/html; charset=utf-8","200","Indexable","","","https://shop.com/a,b","-4","0.1","Tue, 24 Nov 2026"\n' +
      '"http://shop.com/","text/html; charset=utf-8","301","Non-Indexable","","","https://shop.com/","0","0.05",""\n' +
      '"https://www.shop.com/","text/html","200","Indexable","Shop","","","7","0.3",""\n' +
      '"https://shop.com/ä?q=1&r=2","text/html","404","Non-Indexable","","","","0","0.2",""\n' +
      '"https://shop.com/%C3%A4?q=1&r=2#x","text/html","404","Non-Indexable","","","","0","0.2",""\n' +
      '"mailto:a@shop.com","","0","","","","","0","",""\n',
    "https://shop.com/ https://shop.com/a,b http://shop.com/ https://www.shop.com/ https://shop.com/ä?q=1&r=2 https://shop.com/%C3%A4?q=1&r=2#x mailto:a@shop.com",
    { column: "Address", invalid: 1, duplicates: 2 },
  ),
  list(
    "an export of Ahrefs",
    utf16(
      '"#"\t"Domain"\t"Domain rating"\t"Dofollow ref. domains"\t"Traffic"\t"First seen"\r\n' +
        '"1"\t"a.com"\t"91.0"\t"1200"\t"1,204"\t"2024-01-02 03:04:05"\r\n' +
        '"2"\t"b.co.uk"\t"15.5"\t""\t""\t""\r\n' +
        '"3"\t"A.com"\t"91.0"\t"1200"\t"1,204"\t"2024-01-02 03:04:05"\r\n' +
        '"4"\t"bücher.de"\t"3"\t"1"\t"-2"\t""\r\n' +
        '"5"\t"xn--bcher-kva.de"\t"3"\t"1"\t"+2"\t""\r\n',
    ),
    "a.com b.co.uk A.com bücher.de xn--bcher-kva.de",
    { column: "Domain", duplicates: 2 },
  ),
  list(
    "an export of Search Console",
    "Top pages,Clicks,Impressions,CTR,Position\n" +
      "https://a.com/,12,340,3.53%,8.1\nhttps://a.com/ä,0,3,0%,40\n" +
      "https://a.com/#:~:text=price,1,9,11.11%,2.5\nhttps://a.com/,12,340,3.53%,8.1\n",
    "https://a.com/ https://a.com/ä https://a.com/#:~:text=price https://a.com/",
    { column: "Top pages", duplicates: 2 },
  ),
  list(
    "an export of Search Console in German, with a summary, in Windows-1252",
    Buffer.from(
      "Häufigste Seiten;Klicks;Veränderung\r\nhttps://a.com/;12;-3,5%\r\n" +
        "https://a.com/über;1.204;+12\r\nSumme;1.216;\r\n",
      "latin1",
    ),
    "https://a.com/ https://a.com/über Summe",
    { column: "Häufigste Seiten", invalid: 1, isGuessed: true },
  ),
  list(
    "a CSV with duplicates of every kind",
    "Address,Status\nhttps://a.com/,200\nhttps://a.com/,200\nhttp://A.com,301\na.com.,\n" +
      "//a.com,\nhttps://a.com:443/,\nhttps://a.com/#top,200\nhttps://a.com/x/../,\n" +
      "https://a.com/?,\nwww.a.com,\nhttps://a.com/%C3%A4,\nhttps://a.com/ä,\n" +
      "https://a.com/x,\nhttps://a.com/x/,\nbücher.de,\nBÜCHER.de,\nxn--bcher-kva.de,\n",
    "https://a.com/ https://a.com/ http://A.com a.com. //a.com https://a.com:443/ https://a.com/#top https://a.com/x/../ https://a.com/? www.a.com https://a.com/%C3%A4 https://a.com/ä https://a.com/x https://a.com/x/ bücher.de BÜCHER.de xn--bcher-kva.de",
    { column: "Address", duplicates: 11 },
  ),
  list(
    "lines of quoted URLs and of single ones",
    '"a.com","b.com"\nc.com\nd.com\n',
    "a.com b.com c.com d.com",
  ),
  list("one line of quoted URLs", '"a.com","b.com"\n', "a.com b.com"),
  list(
    "a line with two URLs",
    "https://example.com/ https://example.org/",
    "https://example.com/ https://example.org/",
  ),
  list(
    "lines with white space of any kind, and with characters that end a URL",
    "https://a.com/1 <a.com/2>\u3000a.com/3，a.com/4|a.com/5\n" +
      'https://a.com/6"https://a.com/7"\nsee https://ja.wikipedia.org/wiki/日本\nhttps://a.com/1 ,x y',
    "https://a.com/1 a.com/2 a.com/3 a.com/4 a.com/5 https://a.com/6 https://a.com/7 see https://ja.wikipedia.org/wiki/日本 https://a.com/1 x y",
    { invalid: 3, duplicates: 1 },
  ),
  list("a line with a remark", "https://example.com/page # competitor", "https://example.com/page"),
  list(
    "a table with bars",
    "url|da\nhttps://example.com/|1\nhttps://example.org/|2\n",
    "https://example.com/ https://example.org/",
    { column: "url" },
  ),
  list("a URL and an invisible character", "https://example.org/\u200B", "https://example.org/"),
  list(
    "a URL between marks of its direction",
    "\u202Ahttps://example.com/a\u202C",
    "https://example.com/a",
  ),
  list(
    "a URL with an invisible character inside",
    "https://example.com/a\u200Bb",
    "https://example.com/a\u200Bb",
  ),
  list(
    "two spellings of one escape",
    "https://example.com/%c3%a9\nhttps://example.com/%C3%A9\n",
    "https://example.com/%c3%a9 https://example.com/%C3%A9",
    { duplicates: 1 },
  ),
  list("domains to disavow", "# sent\ndomain:spam1.example.com\n", "spam1.example.com"),
  list(
    "the properties of Search Console",
    "siteUrl\nsc-domain:example.com\nhttps://www.example.org/\n",
    "example.com https://www.example.org/",
  ),
  list(
    "a CSV of the properties of Search Console",
    "siteUrl,permissionLevel\nsc-domain:example.com,siteOwner\nhttps://www.example.org/,siteOwner\n",
    "example.com https://www.example.org/",
    { column: "siteUrl" },
  ),
  list(
    "the backlinks of Ahrefs",
    "Referring page title\tReferring page URL\tTarget URL\nA\thttps://a.com/x\thttps://b.com/\n",
    "https://a.com/x",
    { column: "Referring page URL" },
  ),
  list(
    "the batch analysis of Ahrefs",
    "Target,Mode,IP,DR\na.com/x,exact,192.0.2.1,12\n",
    "a.com/x",
    { column: "Target" },
  ),
  list(
    "the backlinks of Semrush",
    "Page ascore,Source title,Source url,Target url\n5,A,https://a.com/x,https://b.com/\n",
    "https://a.com/x",
    { column: "Source url" },
  ),
  list(
    "the backlinks of Majestic",
    "Target URL,Source URL,Anchor Text\nhttps://b.com/,https://a.com/x,A\n",
    "https://a.com/x",
    { column: "Source URL" },
  ),
  list("the referring domains of Majestic", "Item,Domain,Example\n1,a.com,b.com\n", "a.com", {
    column: "Domain",
  }),
  list(
    "the pages of Sitebulb",
    "URL,Canonical URL,HTTP Status Code\nhttps://a.com/x,https://a.com/,200\n",
    "https://a.com/x",
    { column: "URL" },
  ),
]

/** Files that are refused, each with the message that says why. */
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
