import { Badge } from '@mantine/core'
import { redirectsCsv } from '@prepaint/contract/site-files/redirect-csv.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { domainUrl } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { versionQuery, versionsQuery } from '../../api/site-file-queries.ts'
import type { Redirect, Settings, Version, VersionWithContent } from '../../api/types.ts'
import { counted } from '../../format.ts'
import { DataTable, RowButton } from '../../parts/data-table.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
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
  return (
    <Section title={props.title ?? 'Versions'} lead="The last 20, newest first. The first one is in force.">
      <Loaded query={versions} rows={1}>
        {(list) => (
          <DataTable
            rows={list}
            keyOf={({ id }) => id}
            look="lines"
            empty={<Note size="sm">Never changed.</Note>}
            columns={[
              { title: 'Author', className: 'break', cell: ({ author }) => author },
              { title: 'Saved', cell: ({ created_at: at }) => <TimeText at={at} /> },
              {
                title: 'Action',
                kind: 'action',
                cell: (version) =>
                  version === list[0] ? (
                    <Badge>In force</Badge>
                  ) : (
                    <RowButton
                      label="Restore"
                      isOff={props.isOff === true}
                      onClick={() => setChosen(version)}
                    />
                  ),
              },
            ]}
          />
        )}
      </Loaded>
      {chosen !== null && <Restore {...props} version={chosen} onClose={() => setChosen(null)} />}
    </Section>
  )
}

function Restore(props: Props & { version: Version; onClose: () => void }) {
  const { domain, version } = props
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
            <pre className="code-block">{contentText(data)}</pre>
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
  const text = wholeText(version)
  const lines = text.split('\n')
  const more = lines.length - LINES_SHOWN
  if (more <= 0) return text
  return `${lines.slice(0, LINES_SHOWN).join('\n')}\nand ${counted(more, 'more line')}`
}

function wholeText({ kind, content }: VersionWithContent): string {
  if (kind === 'redirects') return redirectsCsv(content as Redirect[])
  if (kind !== 'robots') return JSON.stringify(content, null, 2)
  const { mode, text = '' } = content as Settings['robots']
  return mode === 'origin' ? 'mode: origin' : `mode: ${mode}\n${text}`
}
