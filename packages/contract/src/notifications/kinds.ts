const SMALLER_QUOTA =
  'Lengthen fresh_seconds, ignore query parameters that do not change pages, or choose a larger plan.'

/**
 * One open incident for each kind and domain; most specific first. What people read: `words` after the domain's name, what
 * to try first, and the screen of the domain that shows more.
 */
export const KINDS = {
  origin_unreachable: {
    words: 'origin unreachable',
    advice:
      'Open the origin URL yourself. Check that the server runs and that its firewall lets Prepaint in.',
    screen: '/renders',
  },
  renders_failing: {
    words: 'renders failing',
    advice:
      'Open an example page in a browser, and its render in the dashboard: it names the failed requests.',
    screen: '/renders',
  },
  blocked: {
    words: 'blocked by a bot challenge',
    advice:
      'Allow the user agent "Prepaint" or the addresses of your nodes in the bot protection of the site.',
    screen: '/renders',
  },
  pages_shrinking: {
    words: 'pages shrinking',
    advice: 'Compare an example page with its last good copy in the dashboard. Often an API behind it fails.',
    screen: '/renders',
  },
  certificate_failing: {
    words: 'certificate failing',
    advice: 'Check that the name still points here and that its CAA records allow the certificate authority.',
    screen: '/settings',
  },
  dns_lost: {
    words: 'DNS points elsewhere',
    advice: 'Compare the DNS records of the name with those that the dashboard shows.',
    screen: '',
  },
  integration_refused: {
    words: "site's own front refused",
    advice:
      "Put the domain's site token into the front's configuration, or a valid key. Meanwhile crawlers get the site's own answer.",
    screen: '',
  },
  quota_forecast: {
    words: 'quota used up before the month ends',
    advice: SMALLER_QUOTA,
    screen: '/traffic',
  },
  quota_reached: { words: 'quota reached', advice: SMALLER_QUOTA, screen: '/traffic' },
  crawlers_gone: {
    words: 'search crawlers gone',
    advice: 'Check robots.txt, and the reports of the search engines for this site.',
    screen: '/traffic',
  },
} satisfies Record<string, { words: string; advice: string; screen: string }>

export type IncidentKind = keyof typeof KINDS

/** Of the note of who takes care of an incident. */
export const NOTE_LIMIT_CHARS = 1_000

export const INCIDENT_KINDS = Object.keys(KINDS) as IncidentKind[]

const TROUBLE: readonly string[] = [
  'origin_unreachable',
  'renders_failing',
  'blocked',
  'pages_shrinking',
  'certificate_failing',
  'dns_lost',
  'crawlers_gone',
] satisfies IncidentKind[]

/** The level of `quota_reached` from which it is trouble. */
const QUOTA_TROUBLE = 100

/** Whether an open reason is trouble; the others are warnings. `level`: of `quota_reached`, in percent. */
export function isTroubleKind(kind: string, level: number | null): boolean {
  return TROUBLE.includes(kind) || (kind === 'quota_reached' && (level ?? 0) >= QUOTA_TROUBLE)
}
