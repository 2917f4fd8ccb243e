import { Badge, Button, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { sessionsQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { switchAccount } from '../../api/session.ts'
import type { Session } from '../../api/types.ts'
import { DataTable, RowButton } from '../../parts/data-table.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { notifyFailed } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { ROUTES } from '../../route-map.ts'

export function Sessions() {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const sessions = useQuery(sessionsQuery)
  const [isLeaving, setLeaving] = useState(false)
  const end = useMutation({
    mutationFn: ({ id }: Session) => request('DELETE', `/api/sessions/${id}`),
    onSuccess: () => queries.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
    onError: (error) => notifyFailed('That browser is still signed in', error),
  })
  return (
    <Section
      id="sessions"
      title="Signed-in browsers"
      actions={
        <Button variant="default" size="xs" onClick={() => setLeaving(true)}>
          Sign out everywhere
        </Button>
      }
    >
      <Loaded query={sessions} rows={2}>
        {(list) => (
          <DataTable
            rows={list}
            keyOf={({ id }) => id}
            columns={[
              {
                title: 'Browser',
                cell: ({ user_agent, address }) => (
                  <>
                    <Text size="sm" fw={500} title={user_agent}>
                      {browserOf(user_agent)}
                    </Text>
                    <Note>from {address}</Note>
                  </>
                ),
              },
              { title: 'By', cell: wayOf },
              { title: 'Signed in', cell: ({ created_at }) => <TimeText at={created_at} /> },
              {
                title: 'Actions',
                kind: 'action',
                cell: (session) =>
                  session.current ? (
                    <Badge>this browser</Badge>
                  ) : (
                    <RowButton label="Sign out there" onClick={() => end.mutate(session)} />
                  ),
              },
            ]}
          />
        )}
      </Loaded>
      {isLeaving && (
        <ConfirmDialog
          title="Sign out everywhere?"
          label="Sign out"
          onClose={() => setLeaving(false)}
          run={async () => {
            await request('DELETE', '/api/sessions')
            switchAccount(queries, null)
            navigate(ROUTES.signIn)
          }}
        >
          <Text size="sm">
            All browsers, including this one, must sign in again. API keys and webhook tokens keep working.
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}

const WAYS = { password: 'Password', passkey: 'Passkey', sso: 'Single sign-on' } as const

function wayOf({ way, second_factor: hasSecondFactor }: Session): string {
  return way === 'password' && hasSecondFactor ? 'Password and second factor' : WAYS[way]
}

const BROWSERS = [
  [/\bEdgA?\//, 'Edge'],
  [/\b(OPR|Opera)\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/\b(Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
] as const

const SYSTEMS = [
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
] as const

/** Names a browser for its owner, such as `Firefox on Linux`. */
function browserOf(userAgent: string): string {
  const browser = nameIn(BROWSERS, userAgent) ?? 'Unknown browser'
  const system = nameIn(SYSTEMS, userAgent)
  return system === undefined ? browser : `${browser} on ${system}`
}

function nameIn(names: readonly (readonly [RegExp, string])[], userAgent: string): string | undefined {
  return names.find(([pattern]) => pattern.test(userAgent))?.[1]
}
