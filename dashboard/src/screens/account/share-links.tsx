import { Badge, Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { shareLinksQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { MadeShareLink, ShareLink } from '../../api/types.ts'
import { counted } from '../../format.ts'
import { useAddressed } from '../../parts/addressed.ts'
import { DataTable, RowButton } from '../../parts/data-table.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Note, Page, Words } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { ROUTES } from '../../route-map.ts'
import { ScreenTabs } from '../../shell/screen-tabs.tsx'
import { MadeLink, NewShareLink } from './new-share-link.tsx'

export default function ShareLinks() {
  const links = useQuery(shareLinksQuery)
  const [isMaking, setMaking] = useState(false)
  const [made, setMade] = useState<MadeShareLink | null>(null)
  const [revoking, setRevoking] = useState<ShareLink | null>(null)
  useAddressed('new', () => setMaking(true))
  return (
    <Page
      title="Share links"
      lead="Show some domains to somebody without a login. Whoever has the link sees what it names, and can change nothing."
      actions={<Button onClick={() => setMaking(true)}>Make a share link</Button>}
    >
      <ScreenTabs label="Members" of={ROUTES.members} />
      <div className="sheet sheet-flush">
        <Loaded query={links}>{(list) => <LinkTable links={list} onRevoke={setRevoking} />}</Loaded>
      </div>
      {isMaking && (
        <NewShareLink
          onClose={() => setMaking(false)}
          onMade={(link) => {
            setMaking(false)
            setMade(link)
            void links.refetch()
          }}
        />
      )}
      {made !== null && <MadeLink made={made} onClose={() => setMade(null)} />}
      {revoking !== null && (
        <ConfirmDialog
          title={`Revoke ${revoking.name}?`}
          label="Revoke"
          onClose={() => setRevoking(null)}
          run={async () => {
            await request('DELETE', `/api/share-links/${revoking.id}`)
            await links.refetch()
          }}
        >
          <Text size="sm">Who has the link sees nothing any more, at once. This cannot be undone.</Text>
        </ConfirmDialog>
      )}
    </Page>
  )
}

function LinkTable({
  links,
  onRevoke,
}: {
  links: readonly ShareLink[]
  onRevoke: (link: ShareLink) => void
}) {
  return (
    <DataTable
      rows={links}
      keyOf={({ id }) => id}
      empty={<Empty title="No share link yet">Links that you make are listed here.</Empty>}
      columns={[
        {
          title: 'Name',
          cell: ({ name, created_by: author }) => (
            <>
              <Text size="sm" fw={500} className="break">
                {name}
              </Text>
              {author !== null && <Note className="break">made by {author}</Note>}
            </>
          ),
        },
        {
          title: 'Shows',
          kind: 'labelled',
          cell: ({ domains, parts }) => (
            <>
              <Text size="sm" className="break">
                <Words
                  text={
                    domains.length <= 2
                      ? domains.join(', ') || 'no domain'
                      : counted(domains.length, 'domain')
                  }
                />
              </Text>
              <Note>{parts.join(', ')}</Note>
            </>
          ),
        },
        {
          title: 'Expires',
          kind: 'labelled',
          cell: ({ expires_at: at }) =>
            Date.parse(at) <= Date.now() ? <Badge color="gray">expired</Badge> : <TimeText at={at} />,
        },
        { title: 'Last used', kind: 'labelled', cell: ({ last_used_at: at }) => <TimeText at={at} /> },
        {
          title: 'Actions',
          kind: 'action',
          cell: (link) => <RowButton label="Revoke" subject={link.name} onClick={() => onRevoke(link)} />,
        },
      ]}
    />
  )
}
