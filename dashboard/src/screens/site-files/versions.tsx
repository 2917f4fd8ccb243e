import { Badge, Button, Group, Stack } from '@mantine/core'
import { redirectsCsv } from '@prepaint/contract/site-files/redirect-csv.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { domainUrl } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { versionQuery, versionsQuery } from '../../api/site-file-queries.ts'
import type { Redirect, Settings, Version, VersionWithContent } from '../../api/types.ts'
import { counted, exactDuration } from '../../format.ts'
import { Choice } from '../../parts/choice.tsx'
import { DataTable, RowButton } from '../../parts/data-table.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Lines } from '../../parts/lines.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { textDifference } from '../page/differences.ts'
import { ForbidsSite } from './forbidden.tsx'

type Props = {
  domain: string
  kind: Version['kind']
  title?: string
  /** Nothing can be restored while the screen has unsaved changes. */
  isOff?: boolean
  onRestored?: () => void
  /** Returns the search crawlers that a version would shut out. */
  forbids?: (robots: Settings['robots']) => readonly string[]
}

export function Versions(props: Props) {
  const versions = useQuery(versionsQuery(props.domain, props.kind))
  const [chosen, setChosen] = useState<Version | null>(null)
  const [openId, setOpenId] = useState<number | null>(null)
  return (
    <Section title={props.title ?? 'Versions'} lead="The last 20, newest first. The first one is in force.">
      <Loaded query={versions} rows={1}>
        {(list) => (
          <DataTable
            rows={list}
            keyOf={({ id }) => id}
            look="lines"
            empty={<Note size="sm">Never changed.</Note>}
            detail={(version) =>
              version.id === openId && <Changes domain={props.domain} version={version} list={list} />
            }
            columns={[
              { title: 'Author', className: 'break', cell: ({ author }) => author },
              { title: 'Saved', cell: ({ created_at: at }) => <TimeText at={at} /> },
              {
                title: 'Actions',
                kind: 'action',
                cell: (version) => (
                  <Group gap="xs" justify="end">
                    {version === list[0] && <Badge>In force</Badge>}
                    <Button
                      size="compact-xs"
                      variant="subtle"
                      aria-expanded={version.id === openId}
                      onClick={() => setOpenId(version.id === openId ? null : version.id)}
                    >
                      {version.id === openId ? 'Hide changes' : 'Show changes'}
                    </Button>
                    {version !== list[0] && (
                      <RowButton
                        label="Restore"
                        isOff={props.isOff === true}
                        onClick={() => setChosen(version)}
                      />
                    )}
                  </Group>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      {chosen !== null && (
        <Restore
          {...props}
          version={chosen}
          presentId={versions.data?.[0]?.id ?? chosen.id}
          onClose={() => setChosen(null)}
        />
      )}
    </Section>
  )
}

const AGAINST = [
  { name: 'before', label: 'Against the version before' },
  { name: 'present', label: 'Against the present one' },
] as const

/** What a version changed, or how it differs from the one in force. */
function Changes({ domain, version, list }: { domain: string; version: Version; list: readonly Version[] }) {
  const [against, choose] = useState<(typeof AGAINST)[number]['name']>('before')
  const place = list.indexOf(version)
  const other = against === 'before' ? list[place + 1] : list[0]
  return (
    <Stack gap="xs" py="xs">
      {place > 0 && (
        <Group>
          <Choice
            label={`Compare the version of ${version.created_at}`}
            options={AGAINST}
            chosen={against}
            onChoose={choose}
          />
        </Group>
      )}
      <VersionDifference
        domain={domain}
        id={version.id}
        otherId={other?.id ?? null}
        isOlder={against === 'before'}
      />
    </Stack>
  )
}

/** `otherId`: the version to compare with; null: it is not kept. `isOlder`: it is the one before. */
function VersionDifference(props: { domain: string; id: number; otherId: number | null; isOlder: boolean }) {
  const { domain, id, otherId, isOlder } = props
  const version = useQuery(versionQuery(domain, id))
  const other = useQuery({ ...versionQuery(domain, otherId ?? id), enabled: otherId !== null })
  return (
    <Loaded query={version} rows={1}>
      {(data) =>
        otherId === null ? (
          <>
            <Note size="sm">The version before is not kept. This one in full:</Note>
            <pre className="code-block">{contentText(data)}</pre>
          </>
        ) : (
          <Loaded query={other} rows={1}>
            {(compared) => (
              <TextDifference
                before={wholeText(compared)}
                after={wholeText(data)}
                names={isOlder ? ['before', 'this version'] : ['present', 'this version']}
              />
            )}
          </Loaded>
        )
      }
    </Loaded>
  )
}

/** Lines that only one text has are marked. Blank lines are kept. */
function TextDifference(props: { before: string; after: string; names: readonly [string, string] }) {
  const { before, after, names } = props
  if (before === after) return <Note size="sm">Both are the same.</Note>
  const stretches = textDifference(before.split('\n'), after.split('\n'))
  if (stretches === null) {
    return (
      <>
        <Note size="sm">Almost every line differs. This version in full:</Note>
        <pre className="code-block">{shortened(after)}</pre>
      </>
    )
  }
  return <Lines stretches={stretches} names={names} />
}

function Restore(props: Props & { version: Version; presentId: number; onClose: () => void }) {
  const { domain, version, presentId } = props
  const queries = useQueryClient()
  const found = useQuery(versionQuery(domain, version.id))
  const forbidden = forbiddenBy(found.data, props.forbids)
  return (
    <ConfirmDialog
      title="Restore this version?"
      label="Restore"
      isHarmless={forbidden.length === 0}
      isOff={found.data === undefined}
      onClose={props.onClose}
      run={async () => {
        await request('POST', `${domainUrl(domain)}/versions/${version.id}/restore`)
        await queries.invalidateQueries({ queryKey: ['domains', domain] })
        notifyDone('The version is in force again')
        props.onRestored?.()
      }}
    >
      <Loaded query={found} rows={1}>
        {(data) => (
          <>
            <Note size="sm" mb="xs">
              By {data.author}, <TimeText at={data.created_at} />. The present version is kept.
            </Note>
            <VersionDifference domain={domain} id={version.id} otherId={presentId} isOlder={false} />
            <ForbidsSite crawlers={forbidden} />
          </>
        )}
      </Loaded>
    </ConfirmDialog>
  )
}

function forbiddenBy(version: VersionWithContent | undefined, forbids: Props['forbids']): readonly string[] {
  if (version === undefined || forbids === undefined) return []
  return forbids(version.content as Settings['robots'])
}

const LINES_SHOWN = 100

function contentText(version: VersionWithContent): string {
  return shortened(wholeText(version))
}

function shortened(text: string): string {
  const lines = text.split('\n')
  const more = lines.length - LINES_SHOWN
  if (more <= 0) return text
  return `${lines.slice(0, LINES_SHOWN).join('\n')}\nand ${counted(more, 'more line')}`
}

const SECONDS_LINE = /^(\s*"[a-z]+_seconds": (\d+))(,?)$/gm

/** Seconds are told in words as well, as the settings and the sentence of a rule tell them. */
function withDurations(json: string): string {
  return json.replaceAll(
    SECONDS_LINE,
    (_line, start: string, seconds: string, end: string) =>
      `${start}${end} (${exactDuration(Number(seconds))})`,
  )
}

function wholeText({ kind, content }: VersionWithContent): string {
  if (kind === 'redirects') return redirectsCsv(content as Redirect[])
  if (kind !== 'robots') return withDurations(JSON.stringify(content, null, 2))
  const { mode, text = '' } = content as Settings['robots']
  return mode === 'origin' ? 'mode: origin' : `mode: ${mode}\n${text}`
}
