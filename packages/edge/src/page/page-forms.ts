import type { DerivedForm, Form } from '@prepaint/contract/outcome/form.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import { Abandoned, TO_THE_END, type Waiting, WaitingTogether } from '@prepaint/runtime/abandoned.ts'
import { BodyUnavailable } from '@prepaint/runtime/body-unavailable.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { EdgeBackend } from '../backend.ts'
import type { EdgeDomain } from '../request/domain.ts'
import type { PageCache } from './page-cache.ts'
import type { Served, ServedPage } from './prepared-page.ts'
import { formIn } from './send-page.ts'

/**
 * `database` and `store`: the form could be neither read nor kept, because the database or the object store is away.
 * `abandoned`: nobody waited for it when it would have begun.
 */
type Made = 'made' | 'database' | 'store' | 'abandoned'

/** The form to give, or why the origin answers instead. */
export type FoundForm = Form | 'own-markdown' | 'database' | 'store'

type Making = { together: WaitingTogether; made: Promise<Made> }

/** Finds or makes the other forms of pages. Hits from memory do not come here. */
export class PageForms {
  readonly #backend: EdgeBackend
  readonly #pages: PageCache<Served>
  readonly #log: Log
  readonly #making = new WeakMap<ServedPage, Partial<Record<DerivedForm, Making>>>()

  constructor(backend: EdgeBackend, pages: PageCache<Served>, log: Log) {
    this.#backend = backend
    this.#pages = pages
    this.#log = log
  }

  /**
   * Returns the form that can be given: HTML where the page has no other, or if it takes too long. `database`, `store`: it is
   * not in memory, and cannot be read now. Never rejects.
   */
  async find(
    domain: EdgeDomain,
    id: PageId,
    page: ServedPage,
    asked: Form,
    waiting: Waiting = TO_THE_END,
  ): Promise<FoundForm> {
    const known = formIn(page, asked)
    if (known !== undefined || asked === 'html') return known ?? 'html'
    if (this.#backend.isAway) return 'database'
    const making = this.#making.get(page) ?? {}
    this.#making.set(page, making)
    let made = making[asked]?.made
    if (made !== undefined) making[asked]?.together.join(waiting)
    else {
      const together = new WaitingTogether(waiting)
      made = this.#make(domain, id, page, asked, together.isWanted).finally(() => delete making[asked])
      making[asked] = { together, made }
    }
    const waitMs = this.#backend.formWaitMs
    const end = await (waitMs === null ? made : within(waitMs, made, 'late'))
    // It joined work that was given up in the same moment.
    if (end === 'abandoned' && !waiting.destroyed) return this.find(domain, id, page, asked, waiting)
    const ready = formIn(page, asked)
    if (ready !== undefined) return ready
    if (end === 'store') return end
    return end === 'database' || this.#backend.isAway ? 'database' : 'html'
  }

  async #make(
    domain: EdgeDomain,
    id: PageId,
    page: ServedPage,
    form: DerivedForm,
    isWanted: () => boolean,
  ): Promise<Made> {
    const about = { domain: domain.name, path: id.path, form }
    const url = `https://${domain.name}${id.path}`
    try {
      const { etag, isStored, changedAtMs, html } = page
      const source = { etag, isStored, changedAtMs, html, isWanted }
      const made = await this.#backend.readForm({ form, domain, page: id, ...source })
      if (made === 'busy') return 'made'
      if (made === null) this.#log.info(about, 'a page could not be converted; it is served as HTML')
      page.addForm(form, made, url)
      this.#pages.grown(id, page)
    } catch (error) {
      if (error instanceof Abandoned) return 'abandoned'
      if (error instanceof BodyUnavailable) return 'store'
      this.#log.error({ err: error, ...about }, 'a page could not be converted')
      if (this.#backend.isAwayError(error)) return 'database'
      page.addForm(form, null, url)
    }
    return 'made'
  }
}
