// The viewer keeps the credential in localStorage. Here it is kept for the tab only.
Object.defineProperty(window, 'localStorage', { value: window.sessionStorage })

addEventListener('DOMContentLoaded', () => {
  Scalar.createApiReference('#reference', {
    url: '/v1/openapi.json',
    baseServerURL: location.origin,
    persistAuth: true,
    withDefaultFonts: false,
    telemetry: false,
    hideClientButton: true,
    hiddenClients: true,
    showDeveloperTools: 'never',
    agent: { disabled: true },
    mcp: { disabled: true },
    documentDownloadType: 'json',
    metaData: { title: 'Fiscal Data Service API' },
  })
})
