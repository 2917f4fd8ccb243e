import { Button, Menu } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import type { BulkAction } from '@prepaint/contract/roles.ts'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { portfolioUrl } from '../../api/portfolio-queries.ts'
import { request } from '../../api/request.ts'
import type { BulkResult, PortfolioDomain } from '../../api/types.ts'
import { counted } from '../../format.ts'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { notifyDone, notifyFailed } from '../../parts/notifications.tsx'
import { NO_FILTER } from './site-filter.ts'
import classes from './sites.module.css'
import { TagDialog } from './tag-dialog.tsx'
import { ApplyTemplate } from './templates.tsx'

type Dialog = 'tag' | 'template' | 'warm' | 'purge' | null

/** Acts on the selected sites. It lies over the list, at the bottom of the window. */
export default function BulkBar({
  sites,
  onClear,
}: {
  sites: readonly PortfolioDomain[]
  onClear: () => void
}) {
  const [dialog, setDialog] = useState<Dialog>(null)
  const isNarrow = useMediaQuery('(max-width: 78em)') === true
  const bulk = useBulk(sites)
  const close = () => setDialog(null)
  const named = counted(sites.length, 'site')
  const actions: { label: string; run: () => void; isRed?: boolean; isOff?: boolean }[] = [
    { label: 'Tags', run: () => setDialog('tag') },
    { label: 'Template', run: () => setDialog('template') },
    {
      label: 'Pause',
      run: () => void bulk.switchTo('pause'),
      isOff: !sites.some(({ is_active }) => is_active),
    },
    {
      label: 'Resume',
      run: () => void bulk.switchTo('resume'),
      isOff: sites.every(({ is_active }) => is_active),
    },
    { label: 'Warm', run: () => setDialog('warm') },
    {
      label: 'Render home page again',
      run: () => void bulk.run('rerender', `Rendering the home pages of ${named} again`),
    },
    { label: 'Export', run: () => void exportSites(sites) },
    { label: 'Delete stored pages', run: () => setDialog('purge'), isRed: true },
  ]
  return (
    <>
      <section className={classes.bar} aria-label="Actions for the selected sites">
        <span className={classes.barCount} role="status">
          {named} selected
        </span>
        {isNarrow ? (
          <Menu position="top" withinPortal>
            <Menu.Target>
              <Button size="sm">Actions</Button>
            </Menu.Target>
            <Menu.Dropdown>
              {actions.map(({ label, run, isRed, isOff }) => (
                <Menu.Item key={label} color={isRed ? 'red' : undefined} disabled={isOff} onClick={run}>
                  {label}
                </Menu.Item>
              ))}
            </Menu.Dropdown>
          </Menu>
        ) : (
          actions.map(({ label, run, isRed, isOff }) => (
            <Button
              key={label}
              size="xs"
              px={10}
              variant="default"
              c={isRed ? 'red' : undefined}
              disabled={isOff}
              onClick={run}
            >
              {label}
            </Button>
          ))
        )}
        <Button size={isNarrow ? 'sm' : 'xs'} variant="subtle" onClick={onClear}>
          Clear
        </Button>
      </section>
      {dialog === 'tag' && <TagDialog sites={sites} onClose={close} send={bulk.send} />}
      {dialog === 'template' && <ApplyTemplate sites={sites} onClose={close} send={bulk.send} />}
      {dialog === 'warm' && (
        <ConfirmDialog
          title={`Warm ${named}?`}
          label="Warm"
          isHarmless
          run={() => bulk.run('warm', `Warming of ${named} has started`)}
          onClose={close}
        >
          Renders all known pages of these sites again, without deleting them first. Renders count against the
          monthly limit of each site.
        </ConfirmDialog>
      )}
      {dialog === 'purge' && (
        <ConfirmDialog
          title={`Delete the stored pages of ${named}?`}
          label="Delete stored pages"
          typed={String(sites.length)}
          run={() => bulk.run('purge', `Stored pages of ${named} were deleted`)}
          onClose={close}
        >
          Crawlers wait for a render until the pages are stored again, and each render counts. The sites
          themselves stay.
        </ConfirmDialog>
      )}
    </>
  )
}

export type SendBulk = (
  body: { action: BulkAction; domains: string[] } & Record<string, unknown>,
) => Promise<BulkResult[]>

/** Sends bulk actions, and says what became of them. */
export function useBulk(sites: readonly PortfolioDomain[]) {
  const queries = useQueryClient()
  const send: SendBulk = async (body) => {
    const { results } = await request<{ results: BulkResult[] }>('POST', '/api/bulk', { body })
    await queries.invalidateQueries({
      predicate: ({ queryKey: [first] }) => OUTDATED.includes(String(first)),
    })
    return results
  }
  const run = async (action: BulkAction, done: string) => {
    await report(() => send({ action, domains: namesOf(sites) }), done)
  }
  const switchTo = async (action: 'pause' | 'resume') => {
    const domains = namesOf(sites.filter(({ is_active }) => is_active === (action === 'pause')))
    const back = action === 'pause' ? 'resume' : 'pause'
    const undo = () => void report(() => send({ action: back, domains }), 'Undone')
    const said = action === 'pause' ? 'paused' : 'resumed'
    await report(() => send({ action, domains }), `${counted(domains.length, 'site')} ${said}`, undo)
  }
  return { send, run, switchTo }
}

const OUTDATED: readonly string[] = ['portfolio', 'tags', 'domains', 'integrations']

/** Says that all was done, or which sites refused and why. */
export async function report(
  send: () => Promise<BulkResult[]>,
  done: string,
  undo?: () => void,
): Promise<void> {
  try {
    const refused = (await send()).filter(({ status }) => status !== 200)
    const [first] = refused
    if (first === undefined) notifyDone(done, undo)
    else {
      const more = refused.length === 1 ? '' : ` and ${counted(refused.length - 1, 'other site')}`
      notifyFailed('Not all could be done', new Error(`${first.domain}${more}: ${first.error}`))
    }
  } catch (error) {
    notifyFailed('Nothing was done', error)
  }
}

export function namesOf(sites: readonly PortfolioDomain[]): string[] {
  return sites.map(({ custom_domain }) => custom_domain)
}

/** The lines of the whole list that are about these sites. No cell before the first comma of a line has a quote. */
async function exportSites(sites: readonly PortfolioDomain[]): Promise<void> {
  const response = await fetch(portfolioUrl({ ...NO_FILTER, sort: 'name' }, 'csv'))
  if (!response.ok) {
    notifyFailed(
      'The list could not be exported',
      new Error(`The server responded with status ${response.status}`),
    )
    return
  }
  const names = new Set(namesOf(sites))
  const [head, ...lines] = (await response.text()).split('\r\n')
  const chosen = lines.filter((line) => names.has(line.slice(0, line.indexOf(','))))
  const url = URL.createObjectURL(new Blob([[head, ...chosen, ''].join('\r\n')], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = url
  link.download = 'sites.csv'
  link.click()
  URL.revokeObjectURL(url)
}
