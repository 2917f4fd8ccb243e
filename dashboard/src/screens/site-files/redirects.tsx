import { Alert, Badge, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { ApiError, request } from '../../api/request.ts'
import { redirectsQuery, redirectsUrl } from '../../api/site-file-queries.ts'
import type { DomainWithSettings, Redirect } from '../../api/types.ts'
import { count, counted } from '../../format.ts'
import { CsvButton, DataTable, RowButton } from '../../parts/data-table.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { type Entry, RedirectDialog, RedirectImport } from './redirect-dialogs.tsx'
import { Versions } from './versions.tsx'

/** Replaces the list that is shown, or all by CSV. Fails if it was changed meanwhile; then shows the new one. */
function useReplace(name: string) {
  const queries = useQueryClient()
  const query = redirectsQuery(name)
  return async (change: (list: readonly Redirect[]) => readonly Entry[] | string) => {
    const { answer, etag } = queries.getQueryData(query.queryKey) ?? (await queries.fetchQuery(query))
    const list = change(answer.redirects)
    try {
      const body = typeof list === 'string' ? { csv: list } : { body: { redirects: list } }
      await request('PUT', redirectsUrl(name), { ...body, ifMatch: etag })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.status === 412) {
        await queries.invalidateQueries({ queryKey: query.queryKey })
        throw new ApiError(412, 'The redirects were changed meanwhile. The list is current now: try again.')
      }
      if (typeof list === 'string' || error.lines.length === 0) throw error
      const named = error.lines.map(({ line, error: why }) => `${list[line - 1]?.from}: ${why}`)
      throw new ApiError(error.status, named.join('. '))
    }
    await queries.invalidateQueries({ queryKey: ['domains', name] })
    notifyDone('Saved. The redirects are in force.')
  }
}

/** `entry` null: a new one is edited, or all are imported. */
type Asked = { what: 'edit' | 'remove' | 'import'; entry: Redirect | null }

export function Redirects({ domain: { custom_domain: name } }: { domain: DomainWithSettings }) {
  const list = useQuery(redirectsQuery(name))
  const replace = useReplace(name)
  const [asked, setAsked] = useState<Asked | null>(null)
  const close = () => setAsked(null)
  const known = list.data?.answer.redirects.length ?? 0
  return (
    <Stack gap="lg">
      <Section
        title="Redirects"
        lead="For people and crawlers, before anything else. At most 10,000."
        actions={
          <Group gap="xs">
            <Button size="xs" onClick={() => setAsked({ what: 'edit', entry: null })}>
              Add a redirect
            </Button>
            <Button size="xs" variant="default" onClick={() => setAsked({ what: 'import', entry: null })}>
              Import CSV
            </Button>
            {known > 0 && (
              <CsvButton href={`${redirectsUrl(name)}?format=csv`} label="Export CSV">
                Export CSV
              </CsvButton>
            )}
          </Group>
        }
      >
        <Loaded query={list}>
          {({ answer: { redirects } }) =>
            redirects.length === 0 ? (
              <Empty title="No redirects yet">
                Send old addresses to new ones, or answer 410 for pages that are gone.
              </Empty>
            ) : (
              <RedirectTable redirects={redirects} onAsk={setAsked} />
            )
          }
        </Loaded>
      </Section>
      <Versions domain={name} kind="redirects" />
      {asked?.what === 'edit' && (
        <RedirectDialog
          before={asked.entry}
          onClose={close}
          save={(entry) =>
            replace((redirects) => {
              const at = redirects.findIndex(({ from }) => from === asked.entry?.from)
              return at === -1 ? [...redirects, entry] : redirects.with(at, { ...redirects[at]!, ...entry })
            })
          }
        />
      )}
      {asked?.what === 'import' && (
        <RedirectImport known={known} onClose={close} save={(csv) => replace(() => csv)} />
      )}
      {asked?.what === 'remove' && (
        <ConfirmDialog
          title="Remove this redirect?"
          label="Remove"
          onClose={close}
          run={() => replace((redirects) => redirects.filter(({ from }) => from !== asked.entry?.from))}
        >
          <Text size="sm" className="break">
            {asked.entry?.from} gets what your server has for it. The count of its uses is deleted.
          </Text>
        </ConfirmDialog>
      )}
    </Stack>
  )
}

const ROWS = 100

function RedirectTable(props: { redirects: readonly Redirect[]; onAsk: (asked: Asked) => void }) {
  const { redirects, onAsk } = props
  const [search, setSearch] = useState('')
  const [shown, setShown] = useState(ROWS)
  const sought = useDeferredValue(search.trim().toLowerCase())
  const found = redirects.filter(({ from, to }) => `${from}\n${to}`.toLowerCase().includes(sought))
  return (
    <Stack gap="sm">
      <TextInput
        label="Search"
        type="search"
        className="form"
        placeholder="Part of an address"
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
      />
      <DataTable
        rows={found.slice(0, shown)}
        empty={<Alert color="gray">No redirect contains “{search.trim()}”.</Alert>}
        keyOf={({ from }) => from}
        columns={[
          {
            title: 'From',
            className: 'break',
            cell: ({ from, shadows_page: hides }) => (
              <>
                {from} {hides && <Badge color="yellow">Hides a page</Badge>}
              </>
            ),
          },
          {
            title: 'To',
            kind: 'labelled',
            className: 'break',
            cell: ({ to, external }) => (
              <>
                {to ?? <span className="quiet">gone</span>}{' '}
                {external && <Badge color="gray">Another host</Badge>}
              </>
            ),
          },
          { title: 'Status', kind: 'labelled', cell: ({ status }) => status },
          { title: 'Hits', kind: 'number', cell: ({ hits }) => count(hits) },
          { title: 'Last used', kind: 'labelled', cell: ({ last_used_at: at }) => <TimeText at={at} /> },
          {
            title: 'Actions',
            kind: 'action',
            cell: (entry) => (
              <Group gap="xs" wrap="nowrap">
                <RowButton label="Edit" of={entry.from} onClick={() => onAsk({ what: 'edit', entry })} />
                <RowButton label="Remove" of={entry.from} onClick={() => onAsk({ what: 'remove', entry })} />
              </Group>
            ),
          },
        ]}
      />
      <Group gap="sm">
        <Note size="sm" role="status">
          {found.length > shown ? `${count(shown)} of ` : ''}
          {counted(found.length, 'redirect')}
        </Note>
        {found.length > shown && (
          <Button size="xs" variant="default" onClick={() => setShown(shown + ROWS)}>
            Show more
          </Button>
        )}
      </Group>
    </Stack>
  )
}
