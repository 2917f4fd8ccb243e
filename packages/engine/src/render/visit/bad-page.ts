import type { PageReading } from '@prepaint/contract/reading/page-reading.ts'
import { attributeOf, scanHtml } from '@prepaint/contract/reading/scan-html.ts'

/** Every given part must match; texts are compared in lower case. */
type Mark = {
  name: string
  title?: RegExp
  text?: RegExp
  markup?: RegExp
  /** A page with a form for people is none: its captcha only guards the form. */
  guardsForms?: true
}

const ASKS_FOR_HUMANS =
  /(?:verify|confirm|prove|make sure|checking) (?:that )?(?:you are|you're|you’re|if you are)(?: not)? (?:a )?(?:human|robot|bot)/

/** Bot guards, recognised by text and markup, because scripts are gone. Longer pages are no challenge. */
const CHALLENGES: readonly Mark[] = [
  { name: 'Cloudflare', title: /^(just a moment\.\.\.|attention required! \| cloudflare)$/ },
  { name: 'Cloudflare', text: /checking (if the site connection is secure|your browser before accessing)/ },
  { name: 'Cloudflare', text: /performance (&|and) security by cloudflare/, markup: /ray id|cf-/i },
  {
    name: 'Akamai',
    title: /^access denied$/,
    markup: /errors\.edgesuite\.net|reference\s*#?\d+\.[0-9a-f]+/i,
  },
  { name: 'Akamai', markup: /\bid="sec-(?:if-)?cpt-(?:container|if)"/i },
  { name: 'Imperva', markup: /_Incapsula_Resource|incapsula incident id/i },
  { name: 'DataDome', markup: /geo\.captcha-delivery\.com|ct\.captcha-delivery\.com/i },
  { name: 'HUMAN', markup: /\bid="px-captcha"/i },
  { name: 'HUMAN', title: /^access to this page has been denied/ },
  {
    name: 'AWS WAF',
    markup: /\bid="(?:captcha-container|challenge-container)"/i,
    title: /^(human verification)?$/,
  },
  { name: 'Sucuri', title: /^sucuri website firewall/ },
  { name: 'DDoS-Guard', title: /^ddos-guard$/ },
  { name: 'Vercel', title: /^vercel security checkpoint$/ },
  {
    name: 'hCaptcha',
    markup: /hcaptcha\.com\/|class="[^"]*\bh-captcha\b/i,
    text: ASKS_FOR_HUMANS,
    guardsForms: true,
  },
  {
    name: 'reCAPTCHA',
    markup: /recaptcha\/|class="[^"]*\bg-recaptcha\b/i,
    text: ASKS_FOR_HUMANS,
    guardsForms: true,
  },
  {
    name: 'Turnstile',
    markup: /challenges\.cloudflare\.com|class="[^"]*\bcf-turnstile\b/i,
    text: ASKS_FOR_HUMANS,
    guardsForms: true,
  },
]

const ERROR_SHELLS: readonly Mark[] = [
  {
    name: 'server error',
    title: /^(error )?5\d\d\b|^(internal server error|bad gateway|service unavailable|gateway time-?out)/,
  },
  {
    name: 'server error',
    text: /^(error )?(5\d\d )?(internal server error|bad gateway|service (temporarily )?unavailable|gateway time-?out)/,
  },
  { name: 'Next.js', text: /^application error: a (client|server)-side exception has occurred/ },
  { name: 'React Router', text: /^unexpected application error!/ },
  { name: 'Spring', text: /^whitelabel error page/ },
  { name: 'ASP.NET', text: /^server error in '/ },
  { name: 'Heroku', title: /^(application error|heroku \| application error)$/ },
  {
    name: 'WordPress',
    text: /^(error establishing a database connection|there has been a critical error on this website)/,
  },
  { name: 'PHP', text: /^(php )?(fatal|parse) error: / },
  { name: 'script', text: /(loading chunk \S+ failed|failed to fetch dynamically imported module)/ },
  { name: 'script', text: /^(oops!? ?)?(something went wrong|an (unexpected )?error (has )?occurred)/ },
]

export const TEXT_LIMIT_CHARS = 1_000

type Badness = { kind: 'challenge' | 'error-page'; mark: string }

/** The bot guard named in the response headers, whatever the status; null: none. */
export function challengerOf(headers: readonly { name: string; value: string }[]): string | null {
  const isCloudflare = headers.some(
    ({ name, value }) => name.toLowerCase() === 'cf-mitigated' && /^challenge$/i.test(value.trim()),
  )
  return isCloudflare ? 'Cloudflare' : null
}

/** Returns null if the snapshot is a real page. */
export function badnessOf(html: string, reading: PageReading, status: number): Badness | null {
  if (reading.textChars > TEXT_LIMIT_CHARS) return null
  const page = {
    title: (reading.title ?? '').toLowerCase(),
    text: reading.excerpt.toLowerCase(),
    html,
  }
  const challenge = CHALLENGES.find(
    (mark) => matches(mark, page) && !(mark.guardsForms === true && hasFormForPeople(html)),
  )
  if (challenge !== undefined) return { kind: 'challenge', mark: challenge.name }
  const shell = status < 300 ? ERROR_SHELLS.find((mark) => matches(mark, page)) : undefined
  return shell === undefined ? null : { kind: 'error-page', mark: shell.name }
}

const NO_FIELD = new Set('hidden submit button reset image checkbox radio'.split(' '))

/** Returns whether a person can write or choose something other than the solution of a captcha. */
function hasFormForPeople(html: string): boolean {
  let isFound = false
  scanHtml(html, {
    text() {},
    close() {},
    raw() {},
    open(name, tag) {
      if (name !== 'input' && name !== 'textarea' && name !== 'select') return
      const type = name === 'input' ? (attributeOf(tag, 'type') ?? 'text').toLowerCase() : ''
      const called = `${attributeOf(tag, 'name') ?? ''} ${attributeOf(tag, 'id') ?? ''}`
      if (!NO_FIELD.has(type) && !/captcha|turnstile|challenge/i.test(called)) isFound = true
    },
  })
  return isFound
}

function matches(
  { title, text, markup }: Mark,
  page: { title: string; text: string; html: string },
): boolean {
  return (
    (title?.test(page.title) ?? true) && (text?.test(page.text) ?? true) && (markup?.test(page.html) ?? true)
  )
}
