import { Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { domainUrl } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { Settings } from '../../api/types.ts'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { notifyDone } from '../../parts/notifications.tsx'

/** What people search with, by the name of its crawler. Google is last, beside the question. */
const SEARCH_ENGINES: Record<string, string> = {
  Applebot: 'Siri and Spotlight',
  Baiduspider: 'Baidu',
  YandexBot: 'Yandex',
  DuckDuckBot: 'DuckDuckGo',
  Bingbot: 'Bing',
  Googlebot: 'Google',
}

export const SEARCH_CRAWLERS = Object.keys(SEARCH_ENGINES)

/** The question before the whole site is forbidden to these crawlers. */
export function ForbidsSite({ crawlers }: { crawlers: readonly string[] }) {
  const named = SEARCH_CRAWLERS.filter((crawler) => crawlers.includes(crawler))
  return named.map((crawler, at) => (
    <Text key={crawler} size="sm">
      This forbids the whole site to {crawler}. Its pages will disappear from {SEARCH_ENGINES[crawler]}.
      {at === named.length - 1 && ' Save anyway?'}
    </Text>
  ))
}

/** Settings to save, and the search crawlers that they shut out. */
type Asked = { settings: Partial<Settings>; crawlers: readonly string[] }

/** Saves settings of a domain. Asks first if they shut out search engines. */
export function useAskedSave(domain: string, { said, onSaved }: { said: string; onSaved?: () => void }) {
  const queries = useQueryClient()
  const [asked, setAsked] = useState<Asked | null>(null)
  const store = async (settings: Partial<Settings>) => {
    await request('PUT', domainUrl(domain), { body: { settings } })
    await queries.invalidateQueries({ queryKey: ['domains', domain] })
    onSaved?.()
    notifyDone(said)
  }
  const save = useMutation({
    mutationFn: async (changes: Asked) => {
      if (changes.crawlers.length === 0) await store(changes.settings)
      else setAsked(changes)
    },
  })
  const question = asked !== null && (
    <ConfirmDialog
      title="Shut out search engines?"
      label="Save anyway"
      run={() => store(asked.settings)}
      onClose={() => setAsked(null)}
    >
      <ForbidsSite crawlers={asked.crawlers} />
    </ConfirmDialog>
  )
  return { save, question }
}
