import type { PageFacts } from '../../api/types.ts'

/** From the page's social tags, with the fallbacks of social networks. */
export type LinkPreview = {
  title: string
  description: string | null
  site: string
  /** Absolute; null: not set, or not a URL. */
  image: string | null
  isLarge: boolean
  remarks: string[]
}

/** Social networks cut texts at about these lengths. */
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
      `No og:title: ${title === null ? 'the URL is shown instead' : 'the page title is used instead'}.`,
    )
  }
  if (social['og:description'] === undefined) {
    remarks.push(
      `No og:description: ${description === null ? 'no description is shown' : 'the meta description is used instead'}.`,
    )
  }
  if (named === null) remarks.push('No og:image: the card has no image.')
  else if (image === null) remarks.push('og:image is not a valid URL: the card has no image.')
  else if (!/^https?:\/\//i.test(named))
    remarks.push('og:image is not an absolute URL: some networks show no image.')
  if (title !== null && title.length > TITLE_CHARS)
    remarks.push(`The title is cut after about ${TITLE_CHARS} characters.`)
  const url = social['og:url']
  if (url !== undefined && URL.parse(url)?.host !== domain) {
    remarks.push(`og:url points to another site: ${url.slice(0, 100)}`)
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
