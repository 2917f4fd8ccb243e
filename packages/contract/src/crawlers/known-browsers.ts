import { matchesWithin, parseGlob } from '../glob.ts'

export type KnownBrowser = {
  name: string
  /** A lower-case part of a user agent; `*` stands for anything. */
  pattern: string
  /** Where such user agents were seen or are documented. */
  source: string
}

/** Browsers and applications of people whose user agents hold a word of crawlers, such as the name of a search engine. */
const KNOWN_BROWSERS: readonly KnownBrowser[] = [
  {
    name: 'Sogou browser for Android',
    pattern: 'sogoumobilebrowser',
    source: 'fixtures of matomo-org/device-detector',
  },
  {
    name: 'Sogou browser for Android',
    pattern: 'sogoumse',
    source: 'fixtures of matomo-org/device-detector',
  },
  { name: 'Sogou browser for Windows', pattern: 'sogouexplorer', source: 'ie.sogou.com' },
  { name: 'Sogou browser for Windows', pattern: ' metasr ', source: 'ie.sogou.com' },
  {
    name: 'Sogou search application',
    pattern: 'sogousearch android',
    source: 'fixtures of matomo-org/device-detector',
  },
  {
    name: 'Sogou search application',
    pattern: 'sogousearch ios',
    source: 'fixtures of matomo-org/device-detector',
  },
  { name: 'Sogou input method', pattern: 'sogou_ime', source: 'shurufa.sogou.com' },
  {
    name: 'Safari Technology Preview',
    pattern: 'safari%20technology%20preview',
    source: 'fixtures of matomo-org/device-detector',
  },
  { name: 'Netvitamine toolbar', pattern: 'msie *toolbar (+http', source: 'tests of ua-parser/uap-core' },
  { name: 'Yahoo Mail for phones', pattern: 'yahoomobilemail/', source: 'tests of ua-parser/uap-core' },
  {
    name: 'Facebook application',
    pattern: 'metaiab facebook',
    source: 'developers.facebook.com/docs/meta-iab',
  },
  { name: 'WhatsApp on a phone', pattern: 'whatsapp*/* device/', source: 'tests of ua-parser/uap-core' },
  { name: 'Weibo application', pattern: '_weibo_*_android', source: 'tests of ua-parser/uap-core' },
]

const GLOBS = KNOWN_BROWSERS.map(({ pattern }) => parseGlob(pattern))

export function isKnownBrowser(userAgent: string): boolean {
  const lower = userAgent.toLowerCase()
  return GLOBS.some((glob) => matchesWithin(glob, lower))
}

/** What Android says of a phone: version, maybe a language, then any name that its maker has chosen. */
const ANDROID_DEVICE =
  /^(Mozilla\/5\.0 \(Linux; (?:[UN]; )?(?:arm_64; )?Android)[^()]*(?:\([^()]*\)[^()]*)*(?=\))/

/** A crawler that names itself beside a phone does so with an address, a version or the word `compatible`. */
const NAMES_A_CRAWLER = /compatible|https?:|www\.|@|(?:bot|spider|crawler|fetcher|preview)\/v?\d/i

/** Returns the user agent without the name of the phone, which may be `Spider 8` or `M bot 54`. */
export function withoutDevice(userAgent: string): string {
  const device = ANDROID_DEVICE.exec(userAgent)?.[0]
  if (device === undefined || NAMES_A_CRAWLER.test(device)) return userAgent
  return userAgent.replace(ANDROID_DEVICE, '$1')
}
