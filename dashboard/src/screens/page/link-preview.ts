import type { PageFacts } from '../../api/types.ts'

/** What a link to a page looks like, by its social tags and what networks use without them. */
export type LinkPreview = {
  title: string
  description: string | null
  site: string
  /** Is absolute, or null if there is none or it is not a URL. */
  image: string | null
  isLarge: boolean
  remarks: string[]
}

/** Social networks cut texts at about these lengths. */
const TITLE_CHARS = 90
const DESCRIPTION_CHARS = 200

const URL_CHARS = 100

export function linkPreview(facts: PageFacts, domain: string, path: string): LinkPreview {
  const { social } = facts
  const title = socialTag(social, 'title') ?? facts.title
  const description = socialTag(social, 'description') ?? facts.description
  const namedImage = socialTag(social, 'image')
  const image = namedImage === null ? null : imageUrl(namedImage, `https://${domain}${path}`)
  const remarks = [
    ...textRemarks(social, title, description),
    ...imageRemarks(namedImage, image),
    ...urlRemarks(social['og:url'], domain),
  ]
  return {
    title: cut(title ?? `${domain}${path}`, TITLE_CHARS),
    description: description === null ? null : cut(description, DESCRIPTION_CHARS),
    site: social['og:site_name'] ?? domain,
    image: image?.href ?? null,
    isLarge: image !== null && social['twitter:card'] !== 'summary',
    remarks,
  }
}

type Tags = PageFacts['social']

function socialTag(social: Tags, name: string): string | null {
  return social[`og:${name}`] ?? social[`twitter:${name}`] ?? null
}

/** Returns null if it is not the address of a picture on the web. */
function imageUrl(named: string, pageUrl: string): URL | null {
  const url = URL.parse(named, pageUrl)
  return url !== null && /^https?:$/.test(url.protocol) ? url : null
}

function textRemarks(social: Tags, title: string | null, description: string | null): string[] {
  const remarks: string[] = []
  if (social['og:title'] === undefined) {
    const shown = title === null ? 'the URL is shown instead' : 'the page title is used instead'
    remarks.push(`No og:title: ${shown}.`)
  }
  if (social['og:description'] === undefined) {
    const shown = description === null ? 'no description is shown' : 'the meta description is used instead'
    remarks.push(`No og:description: ${shown}.`)
  }
  if (title !== null && title.length > TITLE_CHARS) {
    remarks.push(`The title is cut after about ${TITLE_CHARS} characters.`)
  }
  return remarks
}

function imageRemarks(named: string | null, image: URL | null): string[] {
  if (named === null) return ['No og:image: the card has no image.']
  if (image === null) return ['og:image is not a valid URL: the card has no image.']
  const remarks: string[] = []
  if (!/^https?:\/\//i.test(named)) {
    remarks.push('og:image is not an absolute URL: some networks show no image.')
  }
  if (/\.svg$/i.test(image.pathname)) {
    remarks.push('og:image is an SVG: most networks do not show it. Use PNG or JPEG.')
  }
  return remarks
}

function urlRemarks(url: string | undefined, domain: string): string[] {
  if (url === undefined || URL.parse(url)?.host === domain) return []
  return [`og:url points to another site: ${cut(url, URL_CHARS)}`]
}

function cut(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars).trimEnd()}…`
}
