import {
  IMPORT_LIMIT_BYTES,
  importAnswer,
  importBody,
  importQuery,
  MOST_LISTED,
} from '@prepaint/contract/api/portfolio.ts'
import { tagsSchema } from '@prepaint/contract/api/tags.ts'
import type { Template } from '@prepaint/contract/api/templates.ts'
import { csvRows } from '@prepaint/contract/csv-rows.ts'
import { AppError, invalidField, statusAndText } from '@prepaint/contract/errors.ts'
import { problemText } from '@prepaint/contract/problem.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import { problemsOf } from '@prepaint/contract/validation.ts'
import { type GivenDomain, importDomains } from '@prepaint/service/sites/import-domains.ts'
import { listTemplates } from '@prepaint/service/sites/templates.ts'
import { authorOf, changerOf } from '../http/access.ts'
import type { ApiApp, ApiOptions, ApiParts, CheckOrigin } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'

/** Origins whose names are looked up at once. */
const ORIGINS_AT_ONCE = 16

export function imports(app: ApiApp, parts: ApiParts, { domainProof, plans }: ApiOptions): void {
  const { caughtUp, checkOrigin, clock, pool } = parts

  accountRoutes(app, 'Portfolio')('POST', '/api/domains/import', 'importDomains', {
    summary: 'Register the domains of a CSV file, all or none',
    description:
      'Answers for each line. With an error in any line nothing is added, unless `partial=true`. The plan must have room for all lines.',
    heaviness: 'change',
    query: importQuery,
    body: importBody,
    takesCsv: IMPORT_LIMIT_BYTES,
    refuses: ['site_limit', 'invalid_field'],
    response: { 200: jsonResponse('Each line', importAnswer) },
    handler: async ({ account }, request) => {
      const { dry_run: dryRun, partial } = request.query
      const rows = rowsOf(request.body)
      const templates = await listTemplates(pool, account)
      const given = await domainsOf(rows, templates, checkOrigin)
      const asked = {
        account,
        author: authorOf(request),
        by: changerOf(request),
        isDryRun: dryRun === 'true',
        isPartial: partial === 'true',
        proof: domainProof,
      }
      const lines = await importDomains(pool, given, asked, { plans, nowMs: clock.nowMs() })
      await caughtUp()
      return { lines }
    },
  })
}

type Row = { line: number; value: (column: string) => string }

/** prerender.io names the columns otherwise. */
const OTHER_NAMES: Readonly<Record<string, string>> = { domain: 'custom_domain', url: 'origin_url' }

/** Throws `invalid_field` for a file that cannot be read as a whole. */
function rowsOf(body: unknown): Row[] {
  if (typeof body !== 'string') throw invalidField([], 'must be CSV, sent as text/csv')
  const rows = csvRows(body.replace(/^\ufeff/, ''))
  if (!Array.isArray(rows)) throw atLine(rows.line, rows.error)
  const [head = { line: 1, cells: [] }, ...others] = rows
  const names = head.cells.map((cell) => cell.trim().toLowerCase()).map((name) => OTHER_NAMES[name] ?? name)
  if (!names.includes('custom_domain') || !names.includes('origin_url')) {
    throw atLine(head.line, 'the header must name custom_domain and origin_url')
  }
  if (others.length === 0) throw atLine(head.line, 'no domain follows')
  if (others.length > MOST_LISTED) throw invalidField([], `has more than ${MOST_LISTED} lines`)
  return others.map(({ line, cells }) => ({
    line,
    value: (column) => cells[names.indexOf(column)]?.trim() ?? '',
  }))
}

function atLine(line: number, error: string): AppError {
  return new AppError('invalid_field', {
    word: `Line ${line}: ${error}`,
    fields: { lines: [{ line, error }] },
  })
}

async function domainsOf(
  rows: readonly Row[],
  templates: readonly Template[],
  check: CheckOrigin,
): Promise<GivenDomain[]> {
  const known = new Map<string, number>()
  const given = rows.map((row) => domainOf(row, templates, known))
  const waiting = [...given.keys()]
  const work = async () => {
    for (let at = waiting.shift(); at !== undefined; at = waiting.shift()) {
      const domain = given[at]!
      if (domain.error !== null) continue
      const origin = await check(domain.originUrl)
      given[at] = origin.ok
        ? { ...domain, originUrl: origin.originUrl }
        : { ...domain, error: statusAndText('invalid_origin', origin.reason).text }
    }
  }
  await Promise.all(Array.from({ length: ORIGINS_AT_ONCE }, work))
  return given
}

/** `known`: the lines of names before this one. */
function domainOf(
  { line, value }: Row,
  templates: readonly Template[],
  known: Map<string, number>,
): GivenDomain {
  const originUrl = value('origin_url')
  const parsed = parseDomainName(value('custom_domain'))
  const name = parsed.ok ? parsed.name : null
  const isMiddleware = value('way').toLowerCase() === 'middleware'
  const templateName = value('template').toLowerCase()
  const template = templates.find((each) => each.name.toLowerCase() === templateName) ?? null
  const tags = value('tags')
    .split(';')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '')
  const before = name === null ? undefined : known.get(name)
  if (name !== null && before === undefined) known.set(name, line)
  const errorOf = (): string | null => {
    if (value('custom_domain') === '' || originUrl === '')
      return statusAndText('missing_domain_fields', '').text
    if (!parsed.ok) return statusAndText('invalid_custom_domain', parsed.reason).text
    if (before !== undefined) return `custom_domain is on line ${before} already`
    const [tagProblem] = problemsOf(tagsSchema, tags)
    if (tagProblem !== undefined) return problemText({ path: ['tags'], message: tagProblem.message })
    if (!['', 'dns', 'middleware'].includes(value('way').toLowerCase()))
      return 'way must be "dns" or "middleware"'
    if (templateName !== '' && template === null) return 'template is not the name of one of your templates'
    return null
  }
  const parsedTags = tagsSchema.safeParse(tags)
  return {
    line,
    name,
    originUrl,
    tags: parsedTags.success ? parsedTags.data : [],
    way: isMiddleware ? 'middleware' : 'dns',
    template,
    error: errorOf(),
  }
}
