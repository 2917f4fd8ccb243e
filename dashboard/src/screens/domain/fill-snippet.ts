/** What the owner's server and site are called, in place of what stands in the files of the guides. */
export type Filling = {
  domain: string
  /** Null: not created yet. */
  token: string | null
  /** Host and port. */
  app: string
  /** Host and port for the file of a server, the whole URL for that of a program. */
  api: string
  /** Host and port. */
  edge: string
}

const PLACEHOLDERS = {
  domain: 'www.example.com',
  token: 'pp_site_TOKEN',
  app: '127.0.0.1:8000',
  api: '127.0.0.1:3000',
  edge: '127.0.0.1:8080',
} as const

/** Returns which values a file of a guide needs. */
export function placeholdersIn(text: string): ReadonlySet<keyof Filling> {
  const names = Object.keys(PLACEHOLDERS) as (keyof Filling)[]
  return new Set(names.filter((name) => text.includes(PLACEHOLDERS[name])))
}

const COMMENT = /^\s*(?:\/\/|#)/
const REPLACE = /^(\s*(?:\/\/|#) )Replace: .*?\.(?: (See .*))?$/

/**
 * Returns whether the token belongs into the file itself. Files that name it only in a comment read it from the
 * environment.
 */
export function hasTokenInCode(text: string): boolean {
  return text.split('\n').some((line) => line.includes(PLACEHOLDERS.token) && !COMMENT.test(line))
}

/** Values that are not known, or were emptied, stay as they are in the file. */
export function filledSnippet(text: string, { domain, token, app, api, edge }: Filling): string {
  const isUrl = /^https?:\/\//.test(api)
  const values = new Map([
    [isUrl ? `http://${PLACEHOLDERS.api}` : PLACEHOLDERS.api, api],
    [PLACEHOLDERS.domain, domain],
    [PLACEHOLDERS.token, token],
    [PLACEHOLDERS.app, app],
    [PLACEHOLDERS.edge, edge],
  ])
  const places = new RegExp([...values.keys()].join('|').replaceAll('.', String.raw`\.`), 'g')
  const fill = (line: string) => {
    const isComment = COMMENT.test(line)
    // In one pass: a value may look like the placeholder of another one. Comments are committed with the file.
    return line.replace(places, (place) =>
      isComment && place === PLACEHOLDERS.token ? place : values.get(place) || place,
    )
  }
  const isToReplace = token === null && hasTokenInCode(text)
  return text
    .split('\n')
    .flatMap((line) => (isToReplace ? [line] : withoutReplace(line)))
    .map(fill)
    .join('\n')
}

/** What is filled in needs no "Replace: …". A comment that says nothing else goes. */
function withoutReplace(line: string): string[] {
  const [, comment = '', rest = ''] = REPLACE.exec(line) ?? []
  if (comment === '') return [line]
  return rest === '' ? [] : [`${comment}${rest}`]
}

/** Returns host and port of the app, as another server of its network reaches it without TLS. */
export function appAddress(originUrl: string): string {
  const url = URL.parse(originUrl)
  return url?.protocol === 'http:' ? withPort(url) : PLACEHOLDERS.app
}

/** Returns where a server reaches the API without TLS, from the address at which the dashboard is open. */
export function apiAddress(here: Pick<URL, 'protocol' | 'hostname' | 'port'>): string {
  return here.protocol === 'http:' ? withPort(here) : `${here.hostname}:3000`
}

function withPort({ hostname, port }: Pick<URL, 'hostname' | 'port'>): string {
  return `${hostname}:${port === '' ? '80' : port}`
}
