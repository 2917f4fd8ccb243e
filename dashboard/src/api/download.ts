import { ApiError } from './api-error.ts'
import { callerHeaders } from './request.ts'

/** Saves an answer as a file with the name that the server gives. A link would not name the account that this tab shows. Throws `ApiError`. */
export async function downloadFile(path: string): Promise<void> {
  const response = await fetch(path, { headers: callerHeaders() })
  if (!response.ok)
    throw new ApiError(response.status, `The server responded with status ${response.status}.`)
  const url = URL.createObjectURL(await response.blob())
  const link = document.createElement('a')
  link.href = url
  link.download = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? ''
  link.click()
  URL.revokeObjectURL(url)
}
