/** What the service uses of pdf.js, which the package unpdf builds for runtimes without a browser. */

export interface PdfDocument {
  numPages: number
  getPage(n: number): Promise<PdfPage>
  loadingTask: { destroy(): Promise<void> }
}

export interface PdfPage {
  getViewport(options: { scale: number }): { height: number }
  getTextContent(): Promise<{ items: object[] }>
}

export function getDocument(options: { data: Uint8Array; useSystemFonts: boolean; verbosity: number }): { promise: Promise<PdfDocument> }
