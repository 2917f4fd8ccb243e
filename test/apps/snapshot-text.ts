/**
 * What a crawler without scripts reads in a snapshot, roughly: text outside of
 * scripts, styles and plain templates. Declarative shadow roots are content.
 */
export function readableText(html: string): string {
  return html
    .replace(/<(script|style)\b[^>]*>[\s\S]*?<\/\1>/gi, ' ')
    .replace(/<template(?![^>]*\bshadowrootmode=)[^>]*>[\s\S]*?<\/template>/gi, ' ')
    .replace(/<!--[\s\S]*?-->|<[^>]*>/g, ' ')
    .replace(/&(lt|gt|amp|quot|nbsp);/g, (_entity, name: string) => ENTITIES[name] ?? ' ')
    .replace(/\s+/g, ' ')
}

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', nbsp: ' ' }

/** Types that a browser runs; everything else in a script element is data (HTML, "prepare the script element"). */
const RUNS = /^$|^module$|^(text|application)\/(x-)?(java|ecma)script\b/i

/** Start tags of what a browser would run or fetch in order to run. */
export function executableScripts(html: string): string[] {
  const scripts = html.match(/<script\b[^>]*>/gi) ?? []
  const preloads = html.match(/<link\b[^>]*\brel="?(modulepreload|preload)\b[^>]*>/gi) ?? []
  return [
    ...scripts.filter((tag) => RUNS.test(/\btype="?([^"\s>]*)/i.exec(tag)?.[1] ?? '')),
    ...preloads.filter((tag) => /modulepreload|\bas="?script/i.test(tag)),
  ]
}
