import type { PageFacts } from '../../api/types.ts'

/** What a network shows of a link to a page, by what the page says and, where it does not, by what they take instead. */
export type LinkPreview = {
  title: string
  description: string | null
  site: string
  /** Absolute; null: none is named, or it is no address. */
  image: string | null
  /** A picture across the card; else a small one beside the words. */
  isLarge: boolean
  /** What is missing, or other than it is meant, for whoever makes the page. */
  remarks: string[]
}

/** Networks cut them after about so many characters. */
const TITLE_CHARS = 90
const DESCRIPTION_CHARS = 200

export function linkPreview(facts: PageFacts, domain: string, path: string): LinkPreview {
  const { social } = facts
  const remarks: string[] = []
  const ofBoth = (name: string) => social[`og:${name}`] ?? social[`twitter:${name}`] ?? null
  const title = ofBoth('title') ?? facts.title
  const description = ofBoth('description') ?? facts.description
  const named = ofBoth('image')
  const found = named === null ? null : URL.parse(named, `https://${domain}${path}`)
  const image = found !== null && /^https?:$/.test(found.protocol) ? found.href : null
  if (social['og:title'] === undefined) {
    remarks.push(
      `No og:title: ${title === null ? 'the address is shown' : 'the title of the page is taken'}.`,
    )
  }
  if (social['og:description'] === undefined) {
    remarks.push(
      `No og:description: ${description === null ? 'nothing is shown' : 'the description of the page is taken'}.`,
    )
  }
  if (named === null) remarks.push('No og:image: the card has no picture.')
  else if (image === null) remarks.push('og:image is no address of a picture.')
  else if (!/^https?:\/\//i.test(named))
    remarks.push('og:image is not absolute: some networks show no picture.')
  if (title !== null && title.length > TITLE_CHARS)
    remarks.push(`The title is cut after about ${TITLE_CHARS} characters.`)
  const url = social['og:url']
  if (url !== undefined && URL.parse(url)?.host !== domain) {
    remarks.push(`og:url leads to another site: ${url.slice(0, 100)}`)
  }
  return {
    title: cut(title ?? `${domain}${path}`, TITLE_CHARS),
    description: description === null ? null : cut(description, DESCRIPTION_CHARS),
    site: social['og:site_name'] ?? domain,
    image,
    isLarge: image !== null && social['twitter:card'] !== 'summary',
    remarks,
  }
}

function cut(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars).trimEnd()}…`
}
