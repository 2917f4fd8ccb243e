import { Alert, Button, Checkbox, Group, Stack, Table, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useMemo, useState } from 'react'

import { request } from '../api.ts'
import type { DomainWithSettings, Purged, QueuedJob, Render } from '../api-types.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { sayDone, sayFailed } from '../parts/done.ts'
import { OutcomeBadge } from '../parts/outcome-badge.tsx'
import { count, counted } from '../parts/quota-bar.tsx'
import { Empty, Loading, Trouble } from '../parts/states.tsx'
import { TimeText } from '../parts/time-text.tsx'
import { cachedPagesQuery, rendersQuery } from '../queries.ts'
import classes from './domain-cache.module.css'

/** Rows drawn at a time: with tens of thousands of pages the others stay out of the document. */
const ROWS = 50
/** As many as one refresh takes. */
const CHOSEN_MOST = 1_000
/** Purges under way at a time: there is one request for each page. */
const PURGES_AT_ONCE = 4

export function DomainCache({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const queries = useQueryClient()
  const pages = useQuery(cachedPagesQuery(name))
  const renders = useQuery(rendersQuery(name))
  const [search, setSearch] = useState('')
  const wanted = useDeferredValue(search)
  const [isDescending, setDescending] = useState(false)
  const [at, setAt] = useState(0)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [purging, setPurging] = useState<'chosen' | 'all' | null>(null)

  const found = useMemo(() => {
    const text = wanted.trim().toLowerCase()
    const matching = (pages.data ?? []).filter((path) => path.toLowerCase().includes(text))
    return isDescending ? matching.toReversed() : matching
  }, [pages.data, wanted, isDescending])
  const start = Math.min(at, Math.max(0, Math.floor((found.length - 1) / ROWS)) * ROWS)
  const rows = found.slice(start, start + ROWS)
  const chosenPaths = useMemo(
    () => (pages.data ?? []).filter((path) => chosen.has(path)),
    [pages.data, chosen],
  )

  const changed = async () => {
    setChosen(new Set())
    await queries.invalidateQueries({ queryKey: ['domains', name] })
  }
  const refresh = useMutation({
    mutationFn: (paths: readonly string[]) =>
      request<{ message: string; jobs: QueuedJob[] }>('POST', '/api/cache/refresh', {
        body: { domain: name, paths },
      }),
    onSuccess: async ({ message }) => {
      sayDone(message)
      await changed()
    },
    onError: (error) => sayFailed('Nothing was refreshed', error),
  })
  const choose = (paths: readonly string[], isOn: boolean) => {
    const next = new Set(chosen)
    for (const path of paths) {
      if (isOn) next.add(path)
      else next.delete(path)
    }
    setChosen(next)
  }

  if (pages.data === undefined) {
    return pages.error === null ? (
      <Loading rows={6} />
    ) : (
      <Trouble error={pages.error} onRetry={() => pages.refetch()} />
    )
  }
  const isTooMany = chosenPaths.length > CHOSEN_MOST
  return (
    <Stack>
      <Group justify="space-between" align="end">
        <TextInput
          label="Search"
          placeholder="Part of a path"
          type="search"
          value={search}
          onChange={(event) => {
            setSearch(event.currentTarget.value)
            setAt(0)
          }}
          className={classes.search}
        />
        <Group gap="xs">
          <Button
            variant="default"
            loading={refresh.isPending}
            disabled={!domain.is_active || isTooMany}
            onClick={() => refresh.mutate(chosenPaths.length > 0 ? chosenPaths : ['/'])}
          >
            {chosenPaths.length > 0 ? `Refresh ${counted(chosenPaths.length, 'page')}` : 'Refresh /'}
          </Button>
          <Button
            variant="default"
            disabled={pages.data.length === 0 || isTooMany}
            onClick={() => setPurging(chosenPaths.length > 0 ? 'chosen' : 'all')}
          >
            {chosenPaths.length > 0 ? `Purge ${counted(chosenPaths.length, 'page')}` : 'Purge all'}
          </Button>
        </Group>
      </Group>
      {isTooMany && (
        <Alert color="yellow">
          At most {count(CHOSEN_MOST)} pages can be refreshed or purged at once; {count(chosenPaths.length)}{' '}
          are chosen.
        </Alert>
      )}
      <div className="sheet sheet-flush">
        {pages.data.length === 0 ? (
          <Empty title="No page is stored yet">
            A page comes here when the first crawler asks for it. “Refresh /” renders the front page now.
          </Empty>
        ) : found.length === 0 ? (
          <Empty
            title={`No path holds “${wanted}”`}
            action={
              <Button variant="default" onClick={() => setSearch('')}>
                Show all
              </Button>
            }
          >
            {counted(pages.data.length, 'page')} are stored.
          </Empty>
        ) : (
          <PageTable
            rows={rows}
            chosen={chosen}
            renders={renders.data ?? []}
            onChoose={choose}
            isDescending={isDescending}
            onTurn={() => {
              setDescending(!isDescending)
              setAt(0)
            }}
          />
        )}
      </div>
      <Group justify="space-between">
        <Text size="sm" className="quiet number" role="status">
          {found.length > 0 &&
            `${count(start + 1)} to ${count(start + rows.length)} of ${counted(found.length, 'page')}`}
          {chosenPaths.length > 0 && `, ${count(chosenPaths.length)} chosen`}
        </Text>
        <Group gap="xs">
          {found.length > ROWS && chosenPaths.length > 0 && found.length <= CHOSEN_MOST && (
            <Button variant="subtle" size="xs" onClick={() => choose(found, true)}>
              Choose all {count(found.length)}
            </Button>
          )}
          <Button variant="default" size="xs" disabled={start === 0} onClick={() => setAt(start - ROWS)}>
            Previous
          </Button>
          <Button
            variant="default"
            size="xs"
            disabled={start + ROWS >= found.length}
            onClick={() => setAt(start + ROWS)}
          >
            Next
          </Button>
        </Group>
      </Group>
      {purging !== null && (
        <ConfirmDialog
          title={
            purging === 'all' ? `Purge all of ${name}?` : `Purge ${counted(chosenPaths.length, 'page')}?`
          }
          label="Purge"
          onClose={() => setPurging(null)}
          run={async () => {
            const deleted = await (purging === 'all' ? purge(name) : purgeEach(name, chosenPaths))
            sayDone(`Purged ${count(deleted)} stored entries of ${name}`)
            await changed()
          }}
        >
          <Text size="sm">
            {purging === 'all'
              ? `${counted(pages.data.length, 'stored page')}, and all stored redirects and sitemaps, are deleted.`
              : 'These pages, and the stored redirects and sitemaps of the domain, are deleted.'}{' '}
            They are rendered again when crawlers next ask, which takes those a moment longer and counts
            against the month.
          </Text>
        </ConfirmDialog>
      )}
    </Stack>
  )
}

async function purge(domain: string, path?: string): Promise<number> {
  const { keysDeleted } = await request<Purged>('POST', '/api/cache/purge', { body: { domain, path } })
  return keysDeleted
}

/** Some at a time; ends at the first that fails, and then those before it are purged. */
async function purgeEach(domain: string, paths: readonly string[]): Promise<number> {
  let deleted = 0
  for (let at = 0; at < paths.length; at += PURGES_AT_ONCE) {
    const counts = await Promise.all(paths.slice(at, at + PURGES_AT_ONCE).map((path) => purge(domain, path)))
    deleted += counts.reduce((sum, each) => sum + each, 0)
  }
  return deleted
}

function PageTable(props: {
  rows: readonly string[]
  chosen: ReadonlySet<string>
  renders: readonly Render[]
  onChoose: (paths: readonly string[], isOn: boolean) => void
  isDescending: boolean
  onTurn: () => void
}) {
  const { rows, chosen } = props
  // The newest comes first, and counts.
  const lastRender = new Map(props.renders.toReversed().map((render) => [render.path, render]))
  const areAll = rows.every((path) => chosen.has(path))
  return (
    <div className="scroll-x">
      <Table verticalSpacing="xs" horizontalSpacing="md" className={classes.table}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th className={classes.choice}>
              <Checkbox
                aria-label="Choose all rows shown"
                checked={areAll}
                indeterminate={!areAll && rows.some((path) => chosen.has(path))}
                onChange={() => props.onChoose(rows, !areAll)}
              />
            </Table.Th>
            <Table.Th aria-sort={props.isDescending ? 'descending' : 'ascending'}>
              <button type="button" className={classes.sort} onClick={props.onTurn}>
                Path <span aria-hidden>{props.isDescending ? '↓' : '↑'}</span>
              </button>
            </Table.Th>
            <Table.Th>Last render</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((path) => {
            const render = lastRender.get(path)
            return (
              <Table.Tr key={path}>
                <Table.Td>
                  <Checkbox
                    aria-label={`Choose ${path}`}
                    checked={chosen.has(path)}
                    onChange={(event) => props.onChoose([path], event.currentTarget.checked)}
                  />
                </Table.Td>
                <Table.Td className="break">{path}</Table.Td>
                <Table.Td className={classes.render}>
                  {render === undefined ? (
                    <span className="quiet">earlier</span>
                  ) : (
                    <Group gap="xs" wrap="nowrap">
                      <OutcomeBadge outcome={render.outcome} /> <TimeText at={render.ended_at} />
                    </Group>
                  )}
                </Table.Td>
              </Table.Tr>
            )
          })}
        </Table.Tbody>
      </Table>
    </div>
  )
}
