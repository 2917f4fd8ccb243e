/**
 * Query parameters that say where a visitor came from and never what the page
 * shows. They are removed from a stored path, so that one page does not become
 * a page for each campaign. A domain whose pages do depend on one of them names
 * it in its `query` setting. Compared without regard to case.
 */
const NAMES: ReadonlySet<string> = new Set([
  // Google Ads, Campaign Manager, Analytics
  'gclid',
  'gclsrc',
  'gbraid',
  'wbraid',
  'dclid',
  'gad_source',
  'gad_campaignid',
  'srsltid',
  '_ga',
  '_gl',
  // Meta, TikTok, X, LinkedIn, Pinterest, Snapchat, Reddit
  'fbclid',
  'igshid',
  'igsh',
  'ttclid',
  'twclid',
  'li_fat_id',
  'epik',
  'sccid',
  'rdt_cid',
  // Microsoft, Yandex
  'msclkid',
  'yclid',
  'ysclid',
  // mail and marketing suites
  'mc_cid',
  'mc_eid',
  '_hsenc',
  '_hsmi',
  '__hssc',
  '__hstc',
  '__hsfp',
  'hsctatracking',
  'mkt_tok',
  'vero_id',
  'oly_anon_id',
  'oly_enc_id',
  '_kx',
  'ml_subscriber',
  'ml_subscriber_hash',
  'wickedid',
  's_kwcid',
  'irclickid',
])

const PREFIXES = ['utm_', 'mtm_', 'pk_', 'matomo_']

/** `name`: of one query parameter, decoded. */
export function isClickTracking(name: string): boolean {
  const lower = name.toLowerCase()
  return NAMES.has(lower) || PREFIXES.some((prefix) => lower.startsWith(prefix))
}
