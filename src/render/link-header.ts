/** Relations between documents, which crawlers act on. All others are for a browser that is about to load the page. */
const DOCUMENT_RELATIONS = new Set([
  'alternate',
  'amphtml',
  'author',
  'canonical',
  'describedby',
  'hub',
  'license',
  'next',
  'prev',
  'self',
  'shortlink',
])

/** The values of a header `Link` (RFC 8288, section 3) that tell of documents; empty when none does. */
export function documentLinks(value: string): string {
  const links = value.match(/(?:<[^>]*>?|"(?:\\.|[^"\\])*"?|[^,<"])+/g) ?? []
  return links
    .map((link) => link.trim())
    .filter((link) => relationsOf(link).some((relation) => DOCUMENT_RELATIONS.has(relation)))
    .join(', ')
}

/** Of the first `rel`, which alone counts. */
function relationsOf(link: string): string[] {
  const parameters = link.replace(/^<[^>]*>/, '')
  const [, quoted, plain] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters) ?? []
  return (quoted ?? plain ?? '').toLowerCase().split(/\s+/)
}
