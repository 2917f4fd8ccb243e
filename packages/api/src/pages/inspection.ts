import {
  createInspectionAnswer,
  createInspectionBody,
  getInspectionAnswer,
  getPageDetailsAnswer,
  inspectionParams,
  PICTURES,
  pageDetailsForClientsSchema,
} from '@prepaint/contract/api/inspection.ts'
import { onePageQuery } from '@prepaint/contract/api/pages.ts'
import { ruleChangesSchema } from '@prepaint/contract/api/renders.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { parseJobId } from '@prepaint/contract/ids.ts'
import type { Form } from '@prepaint/contract/outcome/form.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import type { Rule } from '@prepaint/contract/rules/schema.ts'
import { Converter } from '@prepaint/pages/forms/converter.ts'
import { PageForms } from '@prepaint/pages/forms/stored-form.ts'
import {
  findInspection,
  findPicture,
  lastInspection,
  requestInspection,
} from '@prepaint/pages/inspection/inspections.ts'
import { readSnapshot, storedFacts } from '@prepaint/pages/inspection/side.ts'
import { rendersOfPage } from '@prepaint/pages/queue/judging/render-records.ts'
import { findListed } from '@prepaint/pages/store/list-pages.ts'
import { listDigests } from '@prepaint/pages/store/page-digests.ts'
import { htmlOf } from '@prepaint/pages/store/stored-page.ts'
import { RuleBook } from '@prepaint/runtime/rule-book.ts'
import { readFormRequests } from '@prepaint/service/insight/traffic/read-summaries.ts'
import { z } from 'zod'
import { isClient } from '../http/access.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse, pictureResponse, textResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'
import { digestView, inspectionView } from './inspection-view.ts'
import { onePage } from './page-choice.ts'
import { listedPageView } from './pages.ts'

/** Forbids scripts in customers' content on our address. */
export const CUSTOMER_CONTENT_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"

export function inspections(app: ApiApp, { bodies, clock, log, pool }: ApiParts): void {
  const forms = new PageForms(pool, pool, new Converter(), bodies, log)
  const add = domainRoutes(app, pool, 'Pages')

  /** Throws `page_not_found` for a page that is not stored, or has no such form. */
  async function textOf(
    domain: { account: number; name: string },
    page: PageId,
    form: Form = 'html',
  ): Promise<string> {
    const stored = await readSnapshot(pool, page, bodies)
    if (stored?.kind !== 'page') throw new AppError('page_not_found')
    if (form === 'html') return stored.html
    const changedAtMs = stored.changedAtMs ?? stored.renderedAtMs
    const source = { etag: stored.etag, isStored: true, changedAtMs, html: async () => stored.html }
    const found = await forms.find(form, domain, page, source)
    if (found === null || found === 'busy') throw new AppError('page_not_found')
    return htmlOf(found)
  }

  add('GET', 'pages/details', 'getPageDetails', {
    summary: 'Details of one page: its content, its renders, its earlier content',
    query: onePageQuery,
    refuses: ['page_not_found', 'bodies_unavailable'],
    response: { 200: jsonResponse('The page', getPageDetailsAnswer) },
    handler: async (domain, request) => {
      const page = onePage(domain, request.query)
      const { query } = request
      const [snapshot, listed, renders, history, inspection, requests] = await Promise.all([
        readSnapshot(pool, page, bodies),
        findListed(pool, page, domain.settings, clock.nowMs()),
        rendersOfPage(pool, page),
        listDigests(pool, page),
        lastInspection(pool, page),
        readFormRequests(pool, page.domain, page.path, clock.nowMs()),
      ])
      const isNamed = page.variant !== 'desktop' || (query.form ?? 'html') !== 'html'
      if (snapshot === null && isNamed) throw new AppError('page_not_found')
      const stored = snapshot?.kind === 'page' ? snapshot : null
      const details = {
        domain: domain.name,
        path: page.path,
        variant: page.variant,
        stored:
          stored === null || listed === null
            ? null
            : {
                ...listedPageView(listed),
                etag: stored.etag,
                headers: stored.headers.map(([name, value]): [string, string] => [name, value]),
                changed_by_rule: ruleChangesSchema.safeParse(stored.ruleChanges).data ?? null,
                freshness_rule: freshnessRule(domain.settings.rules, page),
              },
        redirect:
          snapshot?.kind === 'redirect'
            ? {
                status: snapshot.status,
                location: snapshot.location,
                stored_at: new Date(snapshot.renderedAtMs).toISOString(),
              }
            : null,
        facts: stored && storedFacts(stored.html, domain.name, page.path),
        renders,
        history: history.map(digestView),
        inspection: inspection && inspectionView(inspection),
        requests,
      }
      return isClient(request) ? pageDetailsForClientsSchema.parse(details) : details
    },
  })

  add('GET', 'pages/source', 'readPageSource', {
    summary: 'A stored page as a crawler gets it, as plain text: HTML, Markdown or card',
    query: onePageQuery,
    refuses: ['page_not_found', 'bodies_unavailable'],
    response: { 200: textResponse('The page in this form') },
    handler: async (domain, { query }, reply) => {
      const text = await textOf(domain, onePage(domain, query), query.form)
      return reply
        .header('Content-Security-Policy', CUSTOMER_CONTENT_POLICY)
        .type('text/plain; charset=utf-8')
        .send(text)
    },
  })

  add('POST', 'inspections', 'createInspection', {
    summary: 'Inspect a page as crawlers and as people get it',
    description:
      'A rendering node shows the stored page without scripts, loads the page in real time as a person does, and takes a screenshot of both. It requests the page from the origin once, does not change the stored page, and does not count as a render. Limits per account: 60 per hour, 5 at a time; a request for a page under inspection returns that inspection. The last 20 results are kept for a day.',
    body: createInspectionBody,
    refuses: ['page_not_found', 'bodies_unavailable', 'too_many_inspections', 'inspection_rate'],
    response: {
      201: jsonResponse('The inspection, queued or running', createInspectionAnswer),
    },
    handler: async (domain, { body }, reply) => {
      const page = onePage(domain, body)
      const { form = 'html' } = body
      if (form !== 'html') await textOf(domain, page, form)
      const inspection = await requestInspection(pool, domain.account, page)
      return reply.code(201).send({ inspection: inspectionView(inspection) })
    },
  })

  add('GET', 'inspections/:inspectionId', 'getInspection', {
    summary: 'State and result of an inspection',
    params: inspectionParams,
    refuses: ['inspection_not_found'],
    response: { 200: jsonResponse('The inspection', getInspectionAnswer) },
    handler: async (domain, request) => {
      const inspection = await findInspection(pool, domain.id, idOf(request.params.inspectionId))
      if (inspection === null) throw new AppError('inspection_not_found')
      return { inspection: inspectionView(inspection) }
    },
  })

  add('GET', 'inspections/:inspectionId/:picture', 'getInspectionPicture', {
    summary: 'A screenshot of an inspection',
    params: inspectionParams.extend({
      picture: z
        .enum(PICTURES)
        .describe('What crawlers get, what people get, or the image of a link preview'),
    }),
    refuses: ['invalid_field', 'inspection_not_found'],
    response: { 200: pictureResponse('The screenshot') },
    handler: async (domain, request, reply) => {
      const { inspectionId, picture } = request.params
      const found = await findPicture(pool, domain.id, idOf(inspectionId), picture)
      if (found === null) throw new AppError('inspection_not_found')
      return reply.header('Content-Security-Policy', CUSTOMER_CONTENT_POLICY).type('image/webp').send(found)
    },
  })
}

/** The place of the rule that says how long the page is fresh, if one does. The first that matches decides alone. */
function freshnessRule(rules: readonly Rule[], { path }: PageId): number | null {
  const chosen = new RuleBook(rules).chosen(path)
  return chosen?.rule.fresh_seconds === undefined ? null : chosen.index
}

/** Throws `inspection_not_found` unless it is a UUID. */
function idOf(raw: string): string {
  const id = parseJobId(raw)
  if (id === null) throw new AppError('inspection_not_found')
  return id
}
