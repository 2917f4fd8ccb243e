import { Button, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { installationQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { Refusal } from '../../parts/states.tsx'
import { ROUTES } from '../../route-map.ts'
import { openSsoChannel } from './sso-channel.ts'

/** Proves at the provider, in a window of its own, who somebody is. */
export function ConfirmBySso({ onConfirmed }: { onConfirmed: () => void }) {
  const installation = useQuery(installationQuery)
  const name = installation.data?.single_sign_on?.name ?? 'single sign-on'
  const start = useMutation({
    mutationFn: async (opened: Window | null) => {
      if (opened === null) {
        throw new Error('Your browser opened no window. Allow pop-ups for this site, then try again.')
      }
      try {
        const body = { confirm: true, next: ROUTES.ssoConfirmed }
        const { url } = await request<{ url: string }>('POST', '/api/session/sso', { body })
        opened.location.href = url
      } catch (error) {
        opened.close()
        throw error
      }
    },
  })
  useEffect(() => {
    const channel = openSsoChannel((word) => {
      if (word !== 'confirmed') return
      channel.postMessage('heard')
      onConfirmed()
    })
    return () => channel.close()
  }, [onConfirmed])
  return (
    <>
      <Button
        loading={start.isPending}
        // Browsers open windows only for a click.
        onClick={() => start.mutate(window.open('', '_blank', 'popup,width=520,height=720'))}
      >
        Sign in with {name}
      </Button>
      {start.isSuccess && (
        <Text size="sm" role="status">
          Sign in again in the window that has opened. This one goes on by itself.
        </Text>
      )}
      <Refusal error={start.error} />
    </>
  )
}
